import CCurl
import PollLoop
import Foundation

/// Drives one multi handle from an event loop.
///
/// Sockets are watched through epoll; libcurl's timeout and those of the transfers are timers of
/// the loop.
///
/// Everything here runs on the loop's thread. `@unchecked Sendable` holds because the only
/// reference outside, in ``CurlLoop``, is used in closures that the loop executes.
@safe final class MultiDriver: @unchecked Sendable {
    let loop: PollLoop
    var multi: UnsafeMutableRawPointer
    let names: BlockingPool<UUID?>
    private let transfersMax: Int
    private let certificateFile: String?
    private var transfers: [UInt64: ActiveTransfer] = [:]
    var lookups = NameLookups()
    /// The transfers that wait for the addresses of their hosts or proxies.
    var waiting: [UInt64: TransferStart] = [:]
    /// The same transfers by way of their hosts' other addresses, for when a proxy cannot reach
    /// one.
    private var detours: [UInt64: TransferStart] = [:]
    var timers: [UInt64: PollLoop.Timer] = [:]
    private var pauseTimers: [UInt64: PollLoop.Timer] = [:]
    private let sockets = OpenSockets()
    private let proxyAnswers = ProxyAnswers.ofAllLoops
    private let debtors = Debtors()
    private let gatherer = PieceGatherer()
    private var idleHandles: [EasyHandle] = []
    private var wakeup: (timer: PollLoop.Timer, instant: ContinuousClock.Instant)?
    private var curlDeadline: ContinuousClock.Instant?
    private var turns = TurnWatch(at: .now)
    /// The timer that takes a turn now and then while there are transfers.
    private(set) var turnTimer: PollLoop.Timer?
    let kept: KeptConnections
    /// The timer that ends kept connections.
    var keptTimer: PollLoop.Timer?
    var isStopped = false

    /// The number of handles kept for later transfers; each is about 6 KiB, made in microseconds.
    private static let idleHandlesMax = 64

    /// Creates the multi handle, whose callbacks run on the loop only.
    init(
        loop: PollLoop,
        connectionsMax: Int,
        kept: KeptConnections,
        names: BlockingPool<UUID?>,
        certificateFile: String?
    ) throws(CurlError) {
        guard CurlLibrary.isInitialized, let multi = unsafe curl_multi_init() else {
            throw CurlError(.outOfMemory)
        }
        self.loop = loop
        self.kept = kept
        self.names = names
        unsafe self.multi = multi
        transfersMax = connectionsMax
        self.certificateFile = certificateFile
        guard unsafe configure(multi) else { throw CurlError(.outOfMemory) }
    }

    /// Returns whether a multi handle has got its callbacks.
    func configure(_ multi: UnsafeMutableRawPointer) -> Bool {
        // Without this setting, libcurl shrinks the cache whenever few transfers run.
        let context = unsafe Unmanaged.passUnretained(self).toOpaque()
        return unsafe ccurl_multi_set_long(multi, CURLMOPT_MAXCONNECTS, kept.countMax) == CURLM_OK
            && ccurl_multi_set_socket(multi, socketCallback, context) == CURLM_OK
            && ccurl_multi_set_timer(multi, timerCallback, context) == CURLM_OK
    }

    func start(_ id: UInt64, _ request: CurlRequest, sink: any CurlSink) {
        watchTurns()
        do throws(CurlError) {
            guard transfers.count + waiting.count < transfersMax else {
                throw CurlError(.tooManyTransfers)
            }
            let url = try request.validated()
            proceed(id, TransferStart(request, url: url, sink: sink, at: .now))
        } catch {
            sink.finish(.failure(error))
        }
    }

    /// Starts a transfer for which all names are known.
    func begin(_ id: UInt64, _ start: TransferStart) {
        do throws(CurlError) {
            let route = try start.route()
            let easy = try takeHandle()
            let transfer = ActiveTransfer(
                id: id,
                start,
                route: route,
                easy: easy,
                sockets: sockets,
                proxyAnswers: proxyAnswers,
                debtors: debtors,
                gatherer: gatherer
            )
            try easy.configure(start.request, url: start.url, certificateFile: certificateFile)
            if start.isFresh { try easy.set(CURLOPT_FRESH_CONNECT, 1) }
            if let route {
                try easy.configure(route, proxyAddresses: start.proxyAddresses ?? [])
                if !route.others.isEmpty { detours[id] = start.going(past: route) }
            } else if let name = start.url.nameToResolve {
                try easy.set(addresses: start.addresses ?? [], of: name, port: start.url.port)
            }
            try easy.set(connectTimeout: start.request.connectTimeout - transfer.lookupTime)
            try transfer.installCallbacks(
                sendsBody: start.request.bodySource != nil || start.request.body != nil
            )
            // From here on, the callbacks' pointer is in use: the table keeps the object alive.
            transfers[id] = transfer
            guard unsafe curl_multi_add_handle(multi, easy.raw) == CURLM_OK else {
                transfers[id] = nil
                throw CurlError(.outOfMemory)
            }
            arm(transfer)
        } catch {
            detours[id] = nil
            start.sink.finish(.failure(error))
        }
    }

    func cancel(_ id: UInt64) {
        if waiting[id] != nil { return endWaiting(id, .cancelled) }
        guard let transfer = transfers[id] else { return }
        end(transfer, nil, reason: .cancelled)
    }

    func share(_ id: UInt64, _ rates: [SharedRate]) {
        waiting[id]?.request.sharedRates = rates
        detours[id]?.request.sharedRates = rates
        transfers[id]?.repetition?.request.sharedRates = rates
        guard let transfer = transfers[id], transfer.canBePaused else { return }
        transfer.pacing.shared = rates
        pace(transfer)
        pauseDebtors()
    }

    func proceed(_ id: UInt64) {
        guard let transfer = transfers[id] else { return }
        transfer.pacing.proceed()
        pace(transfer)
        pauseDebtors()
    }

    /// Ends all transfers and frees the multi handle.
    func stop() {
        guard !isStopped else { return }
        isStopped = true
        for transfer in transfers.values { end(transfer, nil, reason: .cancelled) }
        for id in waiting.keys { endWaiting(id, .cancelled) }
        idleHandles = []
        unsafe curl_multi_cleanup(multi)
        if let wakeup { loop.cancel(wakeup.timer) }
        for timer in [turnTimer, keptTimer] { if let timer { loop.cancel(timer) } }
    }

    private func watchTurns() {
        guard turnTimer == nil else { return catchUp() }
        turns = TurnWatch(at: .now)
        scheduleTurn()
    }

    private func scheduleTurn() {
        turnTimer = loop.schedule(after: TurnWatch.interval) { [unowned self] in
            catchUp()
            turnTimer = nil
            if transfers.isEmpty && waiting.isEmpty { endKeptLater() } else { scheduleTurn() }
        }
    }

    /// Excuses all transfers for the time in which nobody could look at them.
    ///
    /// Runs before any of them is judged, and before libcurl, which itself counts the time for
    /// connecting.
    func catchUp() {
        let now = ContinuousClock.now
        guard let gap = turns.turn(at: now) else { return }
        for transfer in transfers.values { transfer.excuse(gap, at: now) }
        for id in waiting.keys { waiting[id]?.deadline += gap }
    }

    fileprivate func watch(_ socket: curl_socket_t, _ what: Int32) {
        guard what != CURL_POLL_REMOVE else { return loop.deregister(socket) }
        var interest: PollLoop.Readiness = []
        if what & CURL_POLL_IN != 0 { interest.insert(.readable) }
        if what & CURL_POLL_OUT != 0 { interest.insert(.writable) }
        do {
            try loop.register(socket, for: interest) { [unowned self] readiness in
                socketIsReady(socket, readiness)
            }
        } catch {
            // An error reported to libcurl here leaves the transfer in limbo (curl issue 8114). The
            // kernel is out of memory; the inactivity timer ends the transfer.
        }
    }

    fileprivate func wake(afterMilliseconds milliseconds: Int) {
        guard milliseconds >= 0 else {
            curlDeadline = nil
            return
        }
        let deadline = ContinuousClock.now + .milliseconds(milliseconds)
        curlDeadline = deadline
        // libcurl changes its timeout far more often than it has to be woken: a timer that fires
        // early enough stays, and checks again when it fires.
        if let wakeup, wakeup.instant <= deadline { return }
        armWakeup(at: deadline)
    }

    private func armWakeup(at deadline: ContinuousClock.Instant) {
        if let wakeup { loop.cancel(wakeup.timer) }
        let timer = loop.schedule(after: deadline - .now) { [unowned self] in wakeupFired() }
        wakeup = (timer, deadline)
    }

    private func wakeupFired() {
        wakeup = nil
        guard !isStopped, let deadline = curlDeadline else { return }
        guard deadline <= .now else { return armWakeup(at: deadline) }
        curlDeadline = nil
        act(CURL_SOCKET_BAD, 0)
    }

    private func socketIsReady(_ socket: curl_socket_t, _ readiness: PollLoop.Readiness) {
        var mask: Int32 = 0
        if readiness.contains(.readable) { mask |= CURL_CSELECT_IN }
        if readiness.contains(.writable) { mask |= CURL_CSELECT_OUT }
        // If it can read or write, libcurl finds the error itself, after the last bytes.
        if mask == 0 { mask = CURL_CSELECT_ERR }
        act(socket, mask)
    }

    /// Runs libcurl for one socket; `CURL_SOCKET_BAD` is also `CURL_SOCKET_TIMEOUT`.
    private func act(_ socket: curl_socket_t, _ mask: Int32) {
        catchUp()
        var running: Int32 = 0
        unsafe curl_multi_socket_action(multi, socket, mask, &running)
        gatherer.deliver()
        var waiting: Int32 = 0
        while let message = unsafe curl_multi_info_read(multi, &waiting) {
            guard unsafe message.pointee.msg == CURLMSG_DONE,
                let transfer = unsafe transfer(of: message.pointee.easy_handle)
            else { continue }
            end(transfer, unsafe message.pointee.data.result)
        }
        endRefused()
        pauseDebtors()
    }

    /// Ends the transfers that libcurl would continue although their sinks have refused a piece.
    private func endRefused() {
        for transfer in gatherer.takeRefused() where transfers[transfer.id] === transfer {
            end(transfer, nil, reason: transfer.cause)
        }
    }

    private func pauseDebtors() {
        for transfer in debtors.take() where transfers[transfer.id] != nil { pace(transfer) }
    }

    /// Pauses and resumes the directions of a transfer as its rates demand.
    ///
    /// It checks again when the first pause is over.
    private func pace(_ transfer: ActiveTransfer) {
        let id = transfer.id
        if let timer = pauseTimers.removeValue(forKey: id) { loop.cancel(timer) }
        let now = ContinuousClock.now
        let before = transfer.pacing.rest
        let rest = transfer.pacing.update(at: now)
        // A pause that we want does not count as inactivity of the origin.
        if before.isAny || rest.isAny { transfer.lastActivity = rest.end ?? now }
        transfer.speed.pause(rest.isAny, at: now)
        if let end = rest.end {
            pauseTimers[id] = loop.schedule(after: end - now) { [unowned self] in
                pauseIsOver(id)
            }
        }
        guard rest.curlBits != before.curlBits else { return }
        let code = unsafe curl_easy_pause(transfer.easy.raw, rest.curlBits)
        gatherer.deliver()
        defer { endRefused() }
        // Without a connection there is nothing to pause, and no bytes arrive either; any other
        // error is the sink's, which was given bytes that libcurl had held back.
        guard code != CURLE_BAD_FUNCTION_ARGUMENT else { return transfer.pacing.forgetRest() }
        if code != CURLE_OK { end(transfer, code) }
    }

    private func pauseIsOver(_ id: UInt64) {
        pauseTimers[id] = nil
        guard let transfer = transfers[id] else { return }
        pace(transfer)
        pauseDebtors()
    }

    private func arm(_ transfer: ActiveTransfer) {
        let id = transfer.id
        let now = ContinuousClock.now
        timers[id] = loop.schedule(after: transfer.deadline(at: now) - now) { [unowned self] in
            checkTimeout(id)
        }
    }

    /// Ends a transfer whose time has run out, or sets its timer again.
    ///
    /// Bytes move the deadline without touching the timer: checking again here is far cheaper.
    func checkTimeout(_ id: UInt64) {
        catchUp()
        if let start = waiting[id] { return checkWaiting(id, start) }
        guard let transfer = transfers[id] else { return }
        guard let timeout = transfer.timeout(at: .now) else { return arm(transfer) }
        end(transfer, nil, reason: .timedOut(timeout))
    }

    private func end(
        _ transfer: ActiveTransfer,
        _ result: CURLcode?,
        reason: CurlError.Code? = nil
    ) {
        let id = transfer.id
        guard transfers.removeValue(forKey: id) != nil else { return }
        if let timer = timers.removeValue(forKey: id) { loop.cancel(timer) }
        if let timer = pauseTimers.removeValue(forKey: id) { loop.cancel(timer) }
        let detour = detours.removeValue(forKey: id)
        if reason == nil, transfer.needsFreshConnection, let repetition = transfer.repetition {
            unsafe curl_multi_remove_handle(multi, transfer.easy.raw)
            transfer.releaseConnection(after: nil)
            return begin(id, repetition)
        }
        if let detour, reason == nil, transfer.isTunnelRefused {
            transfer.noteProxyAnswer()
            unsafe curl_multi_remove_handle(multi, transfer.easy.raw)
            return begin(id, detour)
        }
        let outcome = transfer.outcome(result, reason: reason)
        unsafe curl_multi_remove_handle(multi, transfer.easy.raw)
        transfer.releaseConnection(after: reason)
        if result == CURLE_OK, !transfer.easy.hasCookies, idleHandles.count < Self.idleHandlesMax,
            transfer.easy.reset()
        {
            idleHandles.append(transfer.easy)
        }
        transfer.sink.finish(outcome)
    }

    private func takeHandle() throws(CurlError) -> EasyHandle {
        if let handle = idleHandles.popLast() { return handle }
        return try EasyHandle()
    }

    fileprivate func transfer(of easy: UnsafeMutableRawPointer?) -> ActiveTransfer? {
        guard let easy = unsafe easy else { return nil }
        var context: UnsafeMutableRawPointer?
        unsafe ccurl_get_pointer(easy, CURLINFO_PRIVATE, &context)
        return unsafe ActiveTransfer.at(context)
    }
}

private func driver(at context: UnsafeMutableRawPointer?) -> MultiDriver? {
    unsafe context.map { unsafe Unmanaged.fromOpaque($0).takeUnretainedValue() }
}

private func socketCallback(
    _ easy: UnsafeMutableRawPointer?,
    _ socket: curl_socket_t,
    _ what: Int32,
    _ context: UnsafeMutableRawPointer?,
    _: UnsafeMutableRawPointer?
) -> Int32 {
    let driver = unsafe driver(at: context)
    if what != CURL_POLL_REMOVE { unsafe driver?.transfer(of: easy)?.socket = socket }
    driver?.watch(socket, what)
    return 0
}

private func timerCallback(
    _: UnsafeMutableRawPointer?,
    _ milliseconds: Int,
    _ context: UnsafeMutableRawPointer?
) -> Int32 {
    unsafe driver(at: context)?.wake(afterMilliseconds: milliseconds)
    return 0
}
