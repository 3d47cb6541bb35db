package import TransferModel

/// The result of answering a question that a task has asked.
package enum AnswerResult: Sendable {
    case answered(TransferTask)
    /// The task does not wait for an answer of this kind.
    case notAsked(TransferTask)
    case unknownTask
}
