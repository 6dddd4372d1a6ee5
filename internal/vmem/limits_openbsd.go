package vmem

// rlimitAS says that there is no such limit: OpenBSD limits data, which Commit is told of by
// ENOMEM.
const rlimitAS = -1
