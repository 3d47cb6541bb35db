/// The state of a connection between its requests and its answers, one at a time.
struct ConnectionStateMachine: ~Copyable {
    private enum State {
        /// No byte of the next head has come.
        case waiting
        /// A head has begun; its end, or the timeout, ends this state.
        case readingHead
        /// The body is arriving, and the answer may already be sent.
        case readingBody(isAnswerOut: Bool)
        /// The request has arrived and the last byte of its answer is not sent: nothing more is
        /// read.
        case answering
        /// The client has been told that nothing more is answered.
        case closing
    }

    private var state = State.waiting

    /// The action to take after an answer has been sent.
    enum AnswerAction: Equatable {
        /// The next request may come.
        case readOn
        /// The body of this request is still arriving, and is thrown away.
        case readRest
        case nothing
    }

    /// Whether received bytes of further requests are held until the answer is sent.
    var holdsInput: Bool { if case .answering = state { true } else { false } }
    var isClosing: Bool { if case .closing = state { true } else { false } }
    /// Whether no request has arrived that is being answered.
    var isWaiting: Bool {
        switch state {
        case .waiting, .readingHead, .closing: true
        case .readingBody, .answering: false
        }
    }
    var isReadingHead: Bool { if case .readingHead = state { true } else { false } }
    var isReadingBody: Bool { if case .readingBody = state { true } else { false } }
    /// Whether a body is arriving whose request has been answered.
    var isReadingRest: Bool {
        if case .readingBody(isAnswerOut: true) = state { true } else { false }
    }

    /// Notes that bytes have arrived.
    ///
    /// - Returns: whether they begin a head.
    mutating func bytesArrived() -> Bool {
        guard case .waiting = state else { return false }
        state = .readingHead
        return true
    }

    /// Notes that a head has arrived completely.
    mutating func headRead() {
        switch state {
        case .waiting, .readingHead: state = .readingBody(isAnswerOut: false)
        case .readingBody, .answering, .closing: break
        }
    }

    /// Notes that a request has arrived completely.
    ///
    /// - Returns: whether the next may come.
    mutating func requestRead() -> Bool {
        guard case .readingBody(let isAnswerOut) = state else { return false }
        state = isAnswerOut ? .waiting : .answering
        return isAnswerOut
    }

    /// Notes that the last byte of an answer has been sent.
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

    /// Notes that the connection ends.
    mutating func close() { state = .closing }
}
