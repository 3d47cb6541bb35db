/// Where a connection stands between its requests and its answers, one at a time.
struct ConnectionStateMachine: ~Copyable {
    private enum State {
        /// No byte of the next head has come.
        case waiting
        /// A head has begun; its end or the timeout moves on.
        case readingHead
        /// The body comes, and the answer may go already.
        case readingBody(isAnswerOut: Bool)
        /// The request is there and the last byte of its answer is not out: nothing more is read.
        case answering
        /// The client has been told that nothing more is answered.
        case closing
    }

    private var state = State.waiting

    /// What is to be done about an answer that is out.
    enum AnswerAction: Equatable {
        /// The next request may come.
        case readOn
        /// The body of this one still comes, and is thrown away.
        case readRest
        case nothing
    }

    /// Whether what has come of further requests is to lie until the answer is out.
    var holdsInput: Bool { if case .answering = state { true } else { false } }
    var isClosing: Bool { if case .closing = state { true } else { false } }
    /// Whether no request is there that is being answered.
    var isWaiting: Bool {
        switch state {
        case .waiting, .readingHead, .closing: true
        case .readingBody, .answering: false
        }
    }
    var isReadingHead: Bool { if case .readingHead = state { true } else { false } }
    var isReadingBody: Bool { if case .readingBody = state { true } else { false } }

    /// Bytes have come.
    ///
    /// - Returns: whether they begin a head.
    mutating func bytesArrived() -> Bool {
        guard case .waiting = state else { return false }
        state = .readingHead
        return true
    }

    /// A head has come whole.
    mutating func headRead() {
        switch state {
        case .waiting, .readingHead: state = .readingBody(isAnswerOut: false)
        case .readingBody, .answering, .closing: break
        }
    }

    /// A request has come whole.
    ///
    /// - Returns: whether the next may come.
    mutating func requestRead() -> Bool {
        guard case .readingBody(let isAnswerOut) = state else { return false }
        state = isAnswerOut ? .waiting : .answering
        return isAnswerOut
    }

    /// The last byte of an answer is out.
    mutating func answerOut() -> AnswerAction {
        switch state {
        case .answering:
            state = .waiting
            return .readOn
        case .readingBody:
            state = .readingBody(isAnswerOut: true)
            return .readRest
        case .waiting, .readingHead, .closing: return .nothing
        }
    }

    /// The connection ends.
    mutating func close() { state = .closing }
}
