// Package earlier builds gateway and worker as they were at an earlier commit of this
// repository, out of the history of the clone that it is given.
//
// Which commit: the newest tag before HEAD, which is what is out there while the next
// version is rolled out. While no tag has it in its history, one that the caller names:
// Pinned, or PinnedOnClusters.
package earlier
