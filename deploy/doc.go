// Package deploy has no code: its tests check the files that Sluice is deployed with, beside
// them and in the root, without a container engine or a cluster.
//
//	docker-compose.yml   loaded as an engine loads it, then run: every job, gateway and worker as a
//	                     process with exactly its command, environment and health check, on real
//	                     stores, behind a real HAProxy
//	Dockerfile           its lines are read; with SLUICE_LONG its first stage is run by hand
//	prometheus, grafana  promtool, and what provisioning points to
//	kubernetes           built by kustomize's library; every document decoded strictly into the Go
//	                     types of Kubernetes, KEDA and prometheus-operator, and held against the
//	                     programs
//	scripts/release.sh   run in a clone of its own, by a Go that writes down what it is told
//
// It is a module of its own outside the workspace, since what it depends on, Kubernetes and
// KEDA, would choose the versions that the programs are built with.
package deploy
