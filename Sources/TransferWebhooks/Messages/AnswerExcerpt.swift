import TransferModel

/// The start of a receiver's answer, as it may be stored and shown.
enum AnswerExcerpt {
    /// Returns the first bytes of `body` as text in which nothing controls a terminal, a log or a
    /// page's direction; nil when there is none.
    static func text(of body: [UInt8]) -> String? {
        guard !body.isEmpty else { return nil }
        let front = String(
            decoding: body.prefix(DeliveryAttempt.answerBytesMax),
            as: UTF8.self
        )
        var text = String.UnicodeScalarView()
        for scalar in front.unicodeScalars {
            switch scalar.properties.generalCategory {
            case .control where scalar != "\n" && scalar != "\t", .format, .privateUse, .unassigned,
                .lineSeparator, .paragraphSeparator, .surrogate:
                text.append("\u{FFFD}")
            default:
                text.append(scalar)
            }
        }
        return String(text)
    }
}
