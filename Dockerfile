# One image with gateway, worker and warmup:
#
#	docker build --build-arg VERSION=v1.2.3 --build-arg COMMIT=$(git rev-parse HEAD) -t sluice:v1.2.3 .
#
# It has no shell and no user but the number below; `warmup wait` is the health check.
# deploy/image_test.go runs the lines of the first stage by hand.
FROM golang:1.26.8-bookworm AS build
WORKDIR /src
COPY docs docs
COPY lua lua
COPY shared shared
COPY gateway gateway
COPY worker worker
COPY warmup warmup
ARG VERSION=
ARG COMMIT=
# Each program in its own module: what this image holds depends on no go.work.
RUN --mount=type=cache,target=/go/pkg/mod --mount=type=cache,target=/root/.cache/go-build \
    for program in gateway worker warmup; do \
      (cd "$program" && CGO_ENABLED=0 go build -trimpath -buildvcs=false \
        -ldflags "-s -w -X sluice/shared/service.stampedVersion=$VERSION -X sluice/shared/service.stampedCommit=$COMMIT" \
        -o "/out/$program" .) || exit 1; \
    done

FROM scratch
# For stores, key sets and receivers of alerts that are reached by TLS.
COPY --from=build /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/ca-certificates.crt
COPY --from=build /out/ /
USER 65532:65532
