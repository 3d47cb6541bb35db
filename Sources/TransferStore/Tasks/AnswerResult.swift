package import TransferModel

/// What became of an answer to a question.
package enum AnswerResult: Sendable {
    case answered(TransferTask)
    /// The task waits for no such answer.
    case notAsked(TransferTask)
    case unknownTask
}
