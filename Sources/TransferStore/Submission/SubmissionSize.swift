/// The size of a submission.
struct SubmissionSize: Equatable, Sendable {
    var taskCount: Int
    /// The approximate number of bytes sent to the database.
    var byteCount: Int

    func fits(in other: SubmissionSize) -> Bool {
        taskCount <= other.taskCount && byteCount <= other.byteCount
    }

    static func += (sum: inout SubmissionSize, other: SubmissionSize) {
        sum.taskCount += other.taskCount
        sum.byteCount += other.byteCount
    }
}
