"""How good the detector of `sojourn detect` is: probes of real kernels' queues, and the page on them."""
