# The program in a small image:
#
#   docker build -t tinylda .
#   docker run --rm tinylda                      # the demo
#   docker run --rm -v "$PWD:/data" --user "$(id -u):$(id -g)" tinylda \
#     train texts.txt -k 20 -o my.model --report my.html
#
# In a container, the default memory limit is nine tenths of what the container may use.

FROM rust:1-slim-bookworm AS build
WORKDIR /source
COPY . .
RUN cargo build --release --locked -p tinylda-cli && cp target/release/tinylda /tinylda

FROM debian:bookworm-slim
COPY --from=build /tinylda /usr/local/bin/tinylda
WORKDIR /data
ENTRYPOINT ["tinylda"]
CMD ["demo"]
