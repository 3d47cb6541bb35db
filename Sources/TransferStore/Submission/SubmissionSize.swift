/// How much a submission is.
struct SubmissionSize: Equatable, Sendable {
    var taskCount: Int
    /// About as many as are sent to the database.
    var byteCount: Int

    func fits(in other: SubmissionSize) -> Bool {
        taskCount <= other.taskCount && byteCount <= other.byteCount
    }

    static func += (sum: inout SubmissionSize, other: SubmissionSize) {
        sum.taskCount += other.taskCount
        sum.byteCount += other.byteCount
    }
}
