# All programs in one image, without ROS. Host networking lets participants reach each other's own addresses:
#   docker build -t rosless . && docker run --rm --network host rosless rosless doctor
FROM rust:1-bookworm AS build
RUN apt-get update && apt-get install -y --no-install-recommends libssl-dev pkg-config
WORKDIR /src
COPY . .
RUN cargo build --locked --release --bins \
        --features rosless-rosless/security,rosless-rosless/zstd,rosless-rosless/sqlite3 \
    && mkdir /out \
    && find target/release -maxdepth 1 -type f -perm -u+x -exec cp {} /out/ \;

FROM debian:bookworm-slim
RUN apt-get update && apt-get install -y --no-install-recommends libssl3 && rm -rf /var/lib/apt/lists/*
COPY --from=build /out/ /usr/local/bin/
USER nobody
ENTRYPOINT []
CMD ["rosless", "doctor"]
