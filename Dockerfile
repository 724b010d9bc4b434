# The broker and the command line: `docker build --tag rawline .`, with
# `--build-arg COMMIT=$(git rev-parse --short=12 HEAD)` for `rawline --version`.
# Versions are pinned; whoever needs more certainty adds digests.

FROM node:24.11.0-bookworm-slim AS console
WORKDIR /src/console
COPY console/package.json console/package-lock.json ./
RUN npm ci --ignore-scripts --no-audit --no-fund --silent
COPY console ./
RUN mkdir -p dist && node build.mjs

FROM rust:1.95.0-trixie AS build
WORKDIR /src
COPY Cargo.toml Cargo.lock ./
COPY crates crates
COPY lab/rust lab/rust
# A member of the workspace, which is not built here.
COPY python python
COPY --from=console /src/console/dist console/dist
ARG COMMIT=unknown
ENV RAWLINE_COMMIT=$COMMIT
RUN --mount=type=cache,target=/usr/local/cargo/registry --mount=type=cache,target=/src/target \
    cargo build --profile dist --locked --package rawline-cli --features full,lab && cp target/dist/rawline /usr/local/bin/rawline
RUN install --directory --owner=65532 --group=65532 --mode=0700 /new/var/lib/rawline /new/var/cache/rawline

FROM debian:13.1-slim
# What the bucket's certificate is compared with.
COPY --from=build /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/ca-certificates.crt
COPY --from=build /usr/local/bin/rawline /usr/local/bin/rawline
COPY --from=build --chown=65532:65532 /new/var/lib/rawline /var/lib/rawline
COPY --from=build --chown=65532:65532 /new/var/cache/rawline /var/cache/rawline
USER 65532:65532
EXPOSE 51313 9092
STOPSIGNAL SIGTERM
ENTRYPOINT ["rawline"]
CMD ["serve", "--listen", "0.0.0.0:51313", "--storage", "/var/lib/rawline", "--cache-dir", "/var/cache/rawline"]
