/// The first halves of the keys of advisory locks; the second says what of that kind is locked.
///
/// Versions that run side by side have the same ones: a number never changes. The lock of a worker
/// has the number of its table in place of one of these: see ``WorkerTransactions``.
enum AdvisoryLock: Int32 {
    /// Held by the one instance that migrates a schema: "trfd" in ASCII.
    case migration = 0x7472_6664
    /// Held by the one instance that changes partitions, or does some kind of retention work:
    /// "trfr".
    case retention = 0x7472_6672
    /// Orders the workers that take shards: "shar".
    case shards = 0x7368_6172
    /// Held by the one instance that cancels a page of a session's tasks: "cncl".
    case cancellation = 0x636E_636C
    /// Orders changes of a tenant's credentials against the questions of its tasks: "answ".
    case answers = 0x616E_7377
    /// Held by the one instance that restarts the deliveries of a subscription: "rstr".
    case restarts = 0x7273_7472
    /// Held by the one instance that folds moves into counts.
    case fold = 0x7465_7079
    /// Orders those who take tasks of a session out of the queue, except claims.
    case readyRuns = 0x7465_707F
}
