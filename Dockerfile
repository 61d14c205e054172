# The image has the binary, the certificates of public authorities, and nothing else: no
# shell, no package manager. docs/deployment.md says how to run it.
#
#	docker build -t posthouse .
#	docker run --rm -p 127.0.0.1:8095:8095 -v posthouse:/data posthouse serve --allow-insecure
#
# Go compiles for the other platforms by itself, so nothing is emulated:
#
#	docker buildx build --platform linux/amd64,linux/arm64 .
FROM --platform=$BUILDPLATFORM golang:1.26-bookworm AS build
WORKDIR /src
COPY go.mod go.sum ./
COPY mail/go.mod mail/go.sum mail/
COPY oidc/go.mod oidc/go.sum oidc/
COPY otel/go.mod otel/go.sum otel/
COPY slack/go.mod slack/go.sum slack/
COPY release/go.mod release/go.sum release/
RUN --mount=type=cache,target=/go/pkg/mod go -C release mod download
COPY . .
ARG TARGETOS
ARG TARGETARCH
ARG VERSION
RUN --mount=type=cache,target=/go/pkg/mod --mount=type=cache,target=/root/.cache/go-build \
	CGO_ENABLED=0 GOOS=$TARGETOS GOARCH=$TARGETARCH \
	go -C release build -trimpath -ldflags "-s -w -X main.version=$VERSION" -o /image/posthouse .
RUN --mount=type=cache,target=/go/pkg/mod --mount=type=cache,target=/root/.cache/go-build \
	go run tools/licences/main.go release >/image/THIRD-PARTY-LICENCES.txt
RUN mkdir -m 700 /image/data && mkdir -m 1777 /image/tmp && \
	echo 'posthouse:x:65532:65532:posthouse:/data:/' >/image/passwd

FROM scratch
COPY --from=build /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/ca-certificates.crt
COPY --from=build /image/passwd /etc/passwd
COPY --from=build /image/tmp /tmp
COPY --from=build --chown=65532:65532 /image/data /data
COPY --from=build /image/posthouse /usr/local/bin/posthouse
COPY LICENSE /usr/share/doc/posthouse/LICENSE
COPY --from=build /image/THIRD-PARTY-LICENCES.txt /usr/share/doc/posthouse/THIRD-PARTY-LICENCES.txt
# A container listens for others, so a certificate or --allow-insecure is for you to give.
ENV PATH=/usr/local/bin POSTHOUSE_DATA_DIR=/data POSTHOUSE_ADDR=0.0.0.0:8095
USER 65532:65532
WORKDIR /data
VOLUME /data
EXPOSE 8095
HEALTHCHECK --interval=10s --timeout=12s --start-period=30s CMD ["/usr/local/bin/posthouse", "health"]
ENTRYPOINT ["/usr/local/bin/posthouse"]
CMD ["serve"]
