/// A kind of data that is removed when it is too old, by one instance at a time for each kind.
enum RetentionWork: String {
    case clientStrings
    case defaultPartitions
    case deliveryLog
    case expiredTasks
    case idleSessions
    case resumeData
    case sessions
    case subscriptions
    case tasks
    case owners
}
