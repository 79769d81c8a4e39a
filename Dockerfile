# Sojourn with the simulator, studies and pages. The testbed needs a kernel for it, and is not for this image.
#   docker build -t sojourn . && docker run --rm -v "$PWD:/work" sojourn run motivating-red
FROM rust:1.88-slim-bookworm AS build
RUN apt-get update && apt-get install --yes --no-install-recommends python3 python3-venv gcc make && rm -rf /var/lib/apt/lists/*
WORKDIR /source
COPY . .
RUN make wheels TARGETS=native

FROM python:3.11-slim-bookworm
COPY --from=build /source/requirements/run.txt /source/dist/*.whl /tmp/
RUN pip install --no-cache-dir --require-hashes -r /tmp/run.txt && pip install --no-cache-dir --no-deps /tmp/*.whl && rm /tmp/*
WORKDIR /work
ENTRYPOINT ["sojourn"]
