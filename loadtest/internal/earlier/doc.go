// Package earlier builds gateway and worker as they were at an earlier commit of this
// repository, out of the history of the clone that it is given.
//
// Which commit: the newest tag before HEAD, which is what is out there while the next
// version is rolled out. While there is no tag, Pinned: the last commit before the scripts
// of reserve, settle and hand-over and the schema changed last.
package earlier
