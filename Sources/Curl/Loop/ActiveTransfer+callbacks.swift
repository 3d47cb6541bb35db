import CCurl
import Glibc

extension ActiveTransfer {
    /// Points libcurl's callbacks at this object, which must outlive its use in the multi handle.
    func installCallbacks(sendsBody: Bool) throws(CurlError) {
        let raw = unsafe easy.raw
        let context = unsafe Unmanaged.passUnretained(self).toOpaque()
        try easy.check(unsafe ccurl_set_pointer(raw, CURLOPT_PRIVATE, context))
        try easy.check(unsafe ccurl_set_header(raw, headerCallback, context))
        try easy.check(unsafe ccurl_set_write(raw, writeCallback, context))
        try easy.check(unsafe ccurl_set_open_socket(raw, openSocketCallback, context))
        // Each connection keeps this callback as long as it is open, and longer than its transfers.
        let table = unsafe Unmanaged.passUnretained(sockets).toOpaque()
        try easy.check(unsafe ccurl_set_close_socket(raw, closeSocketCallback, table))
        try easy.check(unsafe ccurl_set_prerequest(raw, prerequestCallback, context))
        guard sendsBody else { return }
        try easy.check(unsafe ccurl_set_read(raw, readCallback, context))
        try easy.check(unsafe ccurl_set_seek(raw, seekCallback, context))
        // Only the progress callback sees sent bytes; downloads do without its calls.
        try easy.check(unsafe ccurl_set_progress(raw, progressCallback, context))
        try easy.set(CURLOPT_NOPROGRESS, 0)
    }

    /// Notes the connection that libcurl has for the request.
    ///
    /// Nothing may have come over a kept one that is not an answer to a request. Libcurl before 8.1
    /// does not look: what an origin sends late, behind an answer, would be the answer to the next
    /// request, whosesoever that is. Nor may one of HTTP/1 still wait for the answer to another
    /// request, to which libcurl 7.88 may add one that offers HTTP/2.
    ///
    /// - Returns: whether the request may be sent over it.
    func enterConnection(to peer: SocketAddress?, from local: SocketAddress?) -> Bool {
        // Libcurl repeats the request: the connection that it had is closed.
        releaseConnection(after: nil)
        guard let peer, let local else { return isFresh }
        let ends = OpenSockets.Ends(local: local, peer: peer)
        if let kept = sockets.connection(between: ends) {
            // As where a host speaks HTTP/2 over some of its connections only.
            let isTaken =
                unsafe offersHTTP2 && kept.isInUse
                && ccurl_is_http1_over_tls(easy.raw) != 0
            connection = (kept, kept.enter())
            return unsafe !isTaken && !kept.isSilent
                && ccurl_has_stray_input(easy.raw, kept.socket) == 0
        }
        guard let new = sockets.use(openedSockets, between: ends) else { return isFresh }
        connection = (new, new.enter())
        return true
    }

    /// Notes that nothing more is expected over the connection, because the request has ended; call
    /// it when libcurl knows that.
    ///
    /// - Parameter reason: why we have ended it; nil if that was libcurl.
    func releaseConnection(after reason: CurlError.Code?) {
        guard let (place, bytesBefore) = connection else { return }
        connection = nil
        if case .timedOut = reason {
            place.leave(timedOutAfter: bytesBefore)
        } else {
            place.leave(timedOutAfter: nil)
        }
    }

    /// The transfer behind the pointer that ``installCallbacks(sendsBody:)`` gave to libcurl.
    static func at(_ context: UnsafeMutableRawPointer?) -> ActiveTransfer? {
        unsafe context.map { unsafe Unmanaged.fromOpaque($0).takeUnretainedValue() }
    }
}

private func headerCallback(
    _ bytes: UnsafeMutablePointer<CChar>?,
    _ size: Int,
    _ count: Int,
    _ context: UnsafeMutableRawPointer?
) -> Int {
    let line = unsafe UnsafeRawBufferPointer(start: bytes, count: size * count)
    guard let transfer = unsafe ActiveTransfer.at(context) else { return abortedWrite }
    return unsafe transfer.receive(headerLine: line) ? line.count : abortedWrite
}

private func writeCallback(
    _ bytes: UnsafeMutablePointer<CChar>?,
    _ size: Int,
    _ count: Int,
    _ context: UnsafeMutableRawPointer?
) -> Int {
    let body = unsafe UnsafeRawBufferPointer(start: bytes, count: size * count)
    guard let transfer = unsafe ActiveTransfer.at(context) else { return abortedWrite }
    return switch unsafe transfer.receive(body: body) {
    case .taken: body.count
    case .paused: Int(CURL_WRITEFUNC_PAUSE)
    case .ended: abortedWrite
    }
}

/// A count larger than any buffer, so that not even an empty write is taken for a success.
private let abortedWrite = Int(UInt32.max)

private func readCallback(
    _ bytes: UnsafeMutablePointer<CChar>?,
    _ size: Int,
    _ count: Int,
    _ context: UnsafeMutableRawPointer?
) -> Int {
    let buffer = unsafe UnsafeMutableRawBufferPointer(start: bytes, count: size * count)
    return unsafe ActiveTransfer.at(context)?.send(into: buffer) ?? Int(CURL_READFUNC_ABORT)
}

private func seekCallback(
    _ context: UnsafeMutableRawPointer?,
    _ offset: curl_off_t,
    _ origin: Int32
) -> Int32 {
    // libcurl seeks only to send a body again from its start.
    guard offset == 0, origin == SEEK_SET, unsafe ActiveTransfer.at(context)?.rewind() == true
    else { return CURL_SEEKFUNC_FAIL }
    return CURL_SEEKFUNC_OK
}

private func progressCallback(
    _ context: UnsafeMutableRawPointer?,
    _: curl_off_t,
    _: curl_off_t,
    _: curl_off_t,
    _ sent: curl_off_t
) -> Int32 {
    unsafe ActiveTransfer.at(context)?.noteProgress(bytesSent: Int64(sent))
    return 0
}

private func openSocketCallback(
    _ context: UnsafeMutableRawPointer?,
    _ purpose: curlsocktype,
    _ address: UnsafeMutablePointer<curl_sockaddr>?
) -> curl_socket_t {
    guard let transfer = unsafe ActiveTransfer.at(context), let address = unsafe address else {
        return CURL_SOCKET_BAD
    }
    let peer = unsafe withUnsafePointer(to: &address.pointee.addr) { pointer in
        unsafe SocketAddress(pointer, length: address.pointee.addrlen)
    }
    guard transfer.allowsConnection(to: peer) else { return CURL_SOCKET_BAD }
    // Programs that this process starts must not inherit connections.
    let type = unsafe address.pointee.socktype | Int32(SOCK_CLOEXEC.rawValue)
    let descriptor = unsafe socket(address.pointee.family, type, address.pointee.protocol)
    if descriptor < 0 {
        transfer.socketError = errno
    } else {
        transfer.opened(descriptor)
    }
    return descriptor
}

private func closeSocketCallback(
    _ table: UnsafeMutableRawPointer?,
    _ socket: curl_socket_t
) -> Int32 {
    guard let table = unsafe table else { return close(socket) }
    return unsafe Unmanaged<OpenSockets>.fromOpaque(table).takeUnretainedValue().close(socket)
}

private func prerequestCallback(
    _ context: UnsafeMutableRawPointer?,
    _ peer: UnsafeMutablePointer<CChar>?,
    _ local: UnsafeMutablePointer<CChar>?,
    _ peerPort: Int32,
    _ localPort: Int32
) -> Int32 {
    guard let transfer = unsafe ActiveTransfer.at(context) else {
        return Int32(CURL_PREREQFUNC_ABORT)
    }
    let isAllowed = transfer.allowsRequest(
        to: unsafe address(peer, peerPort),
        from: unsafe address(local, localPort)
    )
    guard isAllowed else { return Int32(CURL_PREREQFUNC_ABORT) }
    do throws(CurlError) {
        // If the connection was kept and breaks, libcurl repeats the request, up to five times
        // where it finds further kept ones that break (Curl_retry_request in lib/transfer.c of
        // 7.88.1). On one of its own, the request is repeated once.
        try transfer.easy.set(CURLOPT_FRESH_CONNECT, 1)
    } catch {
        // It may then be repeated more often.
    }
    return Int32(CURL_PREREQFUNC_OK)
}

private func address(_ text: UnsafeMutablePointer<CChar>?, _ port: Int32) -> SocketAddress? {
    guard let text = unsafe text else { return nil }
    return SocketAddress(
        text: unsafe String(cString: text),
        port: UInt16(truncatingIfNeeded: port)
    )
}
