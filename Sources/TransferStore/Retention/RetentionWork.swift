/// What is removed when it is too old, each by one instance at a time.
enum RetentionWork: String {
    case clientStrings
    case defaultPartitions
    case deliveryLog
    case expiredTasks
    case resumeData
    case sessions
    case subscriptions
    case tasks
}
