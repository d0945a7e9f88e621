# One image a program: docker build --build-arg PROGRAM=gateway .
FROM golang:1.26-bookworm AS build
ARG PROGRAM
WORKDIR /src
COPY go.work go.work.sum ./
COPY lua lua
COPY docs docs
COPY shared shared
COPY gateway gateway
COPY worker worker
COPY warmup warmup
COPY loadtest loadtest
RUN CGO_ENABLED=0 go build -trimpath -o /out/program ./${PROGRAM}

FROM scratch
COPY --from=build /out/program /program
USER 65532:65532
ENTRYPOINT ["/program"]
