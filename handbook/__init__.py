"""The pages on queue disciplines and congestion controls: prose by hand, tables and figures from the project itself."""
