import CCurl

/// The rates that one transfer keeps, and which of its directions are paused: by a rate, or
/// because the sink takes nothing or the source gives nothing for now.
///
/// Receiving is paused by refusing a piece of the body, which libcurl then keeps: one call of
/// libcurl may bring a hundred buffers, and a pause demanded after that call would come too late.
/// A body that libcurl decodes is not refused: libcurl would decode all that it has read, and keep
/// it without asking us how much that may be. Its pause is demanded after the call, for which its
/// buffer is small.
/// Sending has no such place either, because a body in memory is read without asking us. It is also
/// less urgent: one call sends one buffer.
struct Pacing {
    typealias Instant = ContinuousClock.Instant

    /// The paused directions, and the time when the first pause ends.
    struct Rest {
        var receiving = false
        var sending = false
        /// Nil also when no rate pauses.
        var end: Instant?

        var isAny: Bool { receiving || sending }

        /// The paused directions as bits for curl_easy_pause(3).
        var curlBits: Int32 { (receiving ? CURLPAUSE_RECV : 0) | (sending ? CURLPAUSE_SEND : 0) }
    }

    /// The pauses that libcurl was told last.
    private(set) var rest = Rest()
    private let debtors: Debtors
    private let sendsBody: Bool
    private let decodesBody: Bool
    /// The rates, perhaps shared with other transfers; bytes of both directions count against them.
    var shared: [SharedRate]
    /// Whether receiving is to be paused, of which libcurl has not been told.
    private var owesRest = false
    private var isEntered = false
    private var awaitsSink = false
    private var awaitsSource = false

    /// Whether our own side lets a direction wait.
    var isAwaiting: Bool { awaitsSink || awaitsSource }

    /// Starts with the rates of the request.
    init(_ request: CurlRequest, debtors: Debtors) {
        sendsBody = request.body != nil || request.bodySource != nil
        decodesBody = request.decodesBody
        shared = request.sharedRates
        self.debtors = debtors
    }

    /// Returns whether a piece may be taken; if not, receiving is paused from now on.
    mutating func mayReceive(_ transfer: ActiveTransfer, at now: Instant) -> Bool {
        guard pauseEnd(at: now, isPaused: rest.receiving) != nil else { return true }
        if decodesBody { owesRest = true } else { rest.receiving = true }
        enter(transfer)
        return decodesBody
    }

    /// Records received bytes.
    mutating func received(_ count: Int64, at now: Instant) {
        for rate in shared { rate.move(count, at: now) }
    }

    /// Records sent bytes.
    ///
    /// Enters the transfer as a debtor when they were too many and more follow.
    mutating func sent(
        _ count: Int64,
        by transfer: ActiveTransfer,
        at now: Instant,
        isLast: Bool
    ) {
        for rate in shared { rate.move(count, at: now) }
        guard !isLast else { return }
        if pauseEnd(at: now, isPaused: rest.sending) != nil { enter(transfer) }
    }

    /// Records that the sink did not take a piece, with which receiving is paused.
    mutating func awaitSink(of transfer: ActiveTransfer) {
        awaitsSink = true
        rest.receiving = true
        enter(transfer)
    }

    /// Records that the source had no bytes, with which sending is paused.
    mutating func awaitSource(of transfer: ActiveTransfer) {
        awaitsSource = true
        rest.sending = true
        enter(transfer)
    }

    /// Records that sink and source are ready; the pauses end at the next ``update(at:)``.
    mutating func proceed() { (awaitsSink, awaitsSource) = (false, false) }

    /// Takes back a pause that libcurl could not be told of.
    mutating func forgetRest() { rest = Rest() }

    /// Decides again which directions are paused from now on.
    mutating func update(at now: Instant) -> Rest {
        isEntered = false
        let isReceivingDue = rest.receiving || owesRest
        owesRest = false
        let receiving = isReceivingDue ? pauseEnd(at: now, isPaused: true) : nil
        let sending = sendsBody ? pauseEnd(at: now, isPaused: rest.sending) : nil
        rest = Rest(
            receiving: receiving != nil || awaitsSink,
            sending: sending != nil || awaitsSource,
            end: [receiving, sending].compactMap(\.self).min()
        )
        return rest
    }

    /// Returns when the last of the rates lets a direction continue; nil for now.
    private func pauseEnd(at now: Instant, isPaused: Bool) -> Instant? {
        shared.compactMap { $0.pauseEnd(at: now, isPaused: isPaused) }.max()
    }

    private mutating func enter(_ transfer: ActiveTransfer) {
        guard !isEntered else { return }
        isEntered = true
        debtors.add(transfer)
    }
}
