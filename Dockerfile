# A Trackway broker in a container.
#
#     docker build -t trackway .
#     docker run -p 9092:9092 -v trackway:/var/lib/trackway \
#       -e TRACKWAY_ADVERTISED_LISTENERS=PLAINTEXT://localhost:9092 trackway
#
# TRACKWAY_ADVERTISED_LISTENERS is the address that clients are told to connect to, so it has to be one that they can
# reach: `localhost:9092` for clients on the host, the service's name for clients in other containers. Unset, it is the
# container's own address. For both kinds of clients at once, give each its listener:
#
#     -e TRACKWAY_LISTENERS=INSIDE://0.0.0.0:29092,OUTSIDE://0.0.0.0:9092
#     -e TRACKWAY_ADVERTISED_LISTENERS=INSIDE://trackway:29092,OUTSIDE://localhost:9092
#     -e TRACKWAY_LISTENER_SECURITY_PROTOCOL_MAP=INSIDE:PLAINTEXT,OUTSIDE:PLAINTEXT
#     -e TRACKWAY_INTER_BROKER_LISTENER_NAME=INSIDE
#
# Every setting works that way: TRACKWAY_NUM_PARTITIONS is num.partitions. The root file system may be read-only.

FROM node:22-bookworm-slim AS build
ARG DENO_VERSION=2.9.6
WORKDIR /build
COPY . .
# Laid out and not packed into one file: an image has no first start on which to unpack it.
RUN npx -y deno@${DENO_VERSION} task pack --dir /opt/trackway

FROM debian:bookworm-slim
RUN useradd --system --uid 10001 --user-group --home-dir /var/lib/trackway --shell /usr/sbin/nologin trackway \
  && install -d -o trackway -g trackway -m 750 /var/lib/trackway
COPY --from=build /opt/trackway /opt/trackway
# Says that it works on this base, and leaves Deno's code cache behind, which saves a third of every start.
RUN ln -s /opt/trackway/trackway /usr/local/bin/trackway && trackway version

ENV TRACKWAY_LISTENERS=PLAINTEXT://0.0.0.0:9092 \
  TRACKWAY_LOG_DIRS=/var/lib/trackway/data
USER trackway
WORKDIR /var/lib/trackway
VOLUME /var/lib/trackway
EXPOSE 9092

# An ApiVersions request on the last listener that is named: the answer must repeat the request's id, 42, with no error.
HEALTHCHECK --interval=10s --timeout=5s --start-period=60s --retries=3 CMD bash -c '\
  exec 3<>"/dev/tcp/127.0.0.1/${TRACKWAY_LISTENERS##*:}" && \
  printf "\0\0\0\012\0\022\0\0\0\0\0\052\377\377" >&3 && \
  [ "$(head -c 10 <&3 | od -An -v -tx1 | tr -d " \n" | cut -c 9-)" = 0000002a0000 ]'

# The launcher becomes the broker by exec, so the signal reaches it and it closes its log in order.
STOPSIGNAL SIGTERM
ENTRYPOINT ["trackway"]
CMD ["start"]
