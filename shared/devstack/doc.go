// Package devstack runs real Redis, NATS and Postgres servers as child processes
// on loopback, without passwords, for tests, the demo and fault runs:
//
//	StartRedis ┐                 ┌ Kill ──► (exited) ─┐
//	StartNATS  ├─► (answering) ──┤                    ├─ Restart ─► (answering)
//	StartPostgres ┘              └ Stop ──► (exited) ─┘
//	                                Close: stopped, port free, files gone
//
// StartNATSCluster and StartPostgresPair run what survives the loss of a server: three
// nats-servers, and a primary with a synchronous standby.
//
// A restart keeps port and data. All three are configured as for the promise
// that nothing acknowledged is lost to a killed process: Redis with its append
// only file, NATS and Postgres with an fsync before they acknowledge.
//
// StartRedisCluster and StartRedisSentinel start several Redis servers that take each
// other's place; each is killed and restarted like one that is alone.
//
// Children never outlive the process that started them, however that one ends:
// on Linux the kernel kills them with it. Ports are reserved across processes, so
// that any number of test binaries can run at once.
package devstack
