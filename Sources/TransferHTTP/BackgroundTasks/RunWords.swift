import TransferModel

/// The rule for the words that a run shows to a user.
enum RunWords {
    static let rule =
        "Must have 1 to \(BackgroundTaskRequest.titleBytesMax) bytes and no control characters."

    static func isValid(_ words: String) -> Bool {
        (1...BackgroundTaskRequest.titleBytesMax).contains(words.utf8.count)
            && words.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7f }
    }
}
