# The program alone, without a shell, for a user without rights.
#
#   docker build -t evenodd .
#   docker run --rm evenodd simulate --players 4
FROM --platform=$BUILDPLATFORM golang:1.26 AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
ARG TARGETOS TARGETARCH
# The flags are those of .ci/dist. Without .git the program has no version.
RUN CGO_ENABLED=0 GOOS=$TARGETOS GOARCH=$TARGETARCH \
    go build -trimpath -buildvcs=auto -ldflags='-s -w -buildid=' -o /evenodd . \
 && mkdir -m 0700 /empty

FROM scratch
LABEL org.opencontainers.image.title="evenodd" \
      org.opencontainers.image.description="Leagues of autonomous agents over the protocol league.v2" \
      org.opencontainers.image.licenses="Apache-2.0"
# The authorities that sign the certificates of language models and of other agents.
COPY --from=build /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/
COPY --from=build /evenodd /usr/bin/evenodd
# The data folder is /data/SHARED. A volume gets its owner from these folders.
COPY --from=build --chown=65532:65532 /empty /data
COPY --from=build --chown=65532:65532 /empty /tmp
USER 65532:65532
WORKDIR /data
VOLUME /data
EXPOSE 8000
# The health of a manager on its default port; other agents need the URL of their own.
HEALTHCHECK --interval=10s --timeout=6s --start-period=20s CMD ["/usr/bin/evenodd", "health"]
ENTRYPOINT ["/usr/bin/evenodd"]
CMD ["help"]
