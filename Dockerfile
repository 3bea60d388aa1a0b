# Rollscope where there is no Linux, or no Rust:
#
#   docker build -t rollscope .
#   docker run --rm -v "$PWD:/work" rollscope run scenario.yaml
#
# The sandbox gives each container process a PID namespace of its own where the engine allows it (`--cap-add SYS_ADMIN
# --security-opt seccomp=unconfined --security-opt apparmor=unconfined`), and says in the report where it does not.
FROM rust:1.95-slim-trixie AS build
WORKDIR /src
COPY . .
RUN cargo build --release --locked

FROM debian:trixie-slim
RUN apt-get update && apt-get install -y --no-install-recommends ca-certificates haproxy nginx-light && rm -rf /var/lib/apt/lists/*
COPY --from=build /src/target/release/rollscope /usr/local/bin/rollscope
WORKDIR /work
ENTRYPOINT ["rollscope"]
