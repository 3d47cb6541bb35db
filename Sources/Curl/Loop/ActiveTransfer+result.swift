import CCurl
import Glibc

extension ActiveTransfer {
    /// Returns the outcome in the terms of ``CurlSink``; call it before the handle is reset.
    ///
    /// - Parameters:
    ///   - result: libcurl's result, or nil when we end the transfer for `reason`.
    ///   - reason: why we do.
    /// - Returns: success only with a head and a body of the announced length.
    func outcome(
        _ result: CURLcode?,
        reason: CurlError.Code? = nil
    ) -> Result<CurlSummary, CurlError> {
        var summary = summary()
        if firstByte.requestStart == nil { noteProxyAnswer() }
        let code: CurlError.Code
        if let reason = reason ?? cause {
            code = self.code(of: reason)
        } else if let result, result != CURLE_OK, !isAnswered(before: result) {
            code = self.code(of: result, isConnected: summary.primaryAddress != nil)
        } else if let head {
            guard hasWholeBody(head) else {
                return .failure(CurlError(.truncated, summary: summary))
            }
            summary.isLengthVerified = isFramed(head) && !isDecoded(head)
            return .success(summary)
        } else {
            code = .badResponse
        }
        if code == .egressDenied { egress.refused(host: host, for: group) }
        if code == .tlsFailure, result == CURLE_PEER_FAILED_VERIFICATION {
            summary.certificateFault = CertificateFault(
                verifyResult: easy.long(CURLINFO_SSL_VERIFYRESULT),
                text: easy.errorText
            )
        }
        let curlCode = Int32(bitPattern: result?.rawValue ?? 0)
        return .failure(CurlError(code, curlCode: curlCode, summary: summary))
    }

    private func code(of result: CURLcode, isConnected: Bool) -> CurlError.Code {
        if result == CURLE_COULDNT_CONNECT {
            if isBeginRefused { return .cancelled }
            if isEgressDenied { return .egressDenied }
            if [EMFILE, ENFILE].contains(socketError) { return .outOfDescriptors }
            if [ENOMEM, ENOBUFS].contains(socketError) { return .outOfMemory }
        }
        if let failure = tunnelFailure(result) { return failure }
        if result == CURLE_SSL_CONNECT_ERROR, Self.isRefusal(easy.errorText) {
            return .tlsDisagreement
        }
        if head == nil, Self.isBreak(result) {
            let text = easy.errorText
            if Self.isCertificateAlert(text) { return .tlsDisagreement }
            if isAlone, Self.isStreamRefusal(text) { return .requestRefused }
        }
        return CurlError.Code(result, isConnected: isConnected)
    }

    /// The status with which the proxy has answered; 0 without an answer, as on a kept tunnel.
    private var tunnelStatus: Int { route == nil ? 0 : easy.long(CURLINFO_HTTP_CONNECTCODE) }

    /// Enters that the proxy has answered, if it has.
    func noteProxyAnswer() {
        if let route, tunnelStatus != 0 { proxyAnswers.note(route.proxy, at: .now) }
    }

    /// Whether the proxy has answered nobody since the transfer began.
    private var isProxySilent: Bool {
        guard let route, !isTunnelled, tunnelStatus == 0 else { return false }
        return !proxyAnswers.hasAnswered(route.proxy, since: bounds.startedAt)
    }

    /// Returns what it means that we end the transfer for a reason of our own.
    ///
    /// A request with less patience than the default for connecting says nothing about the proxy.
    private func code(of reason: CurlError.Code) -> CurlError.Code {
        guard case .timedOut = reason, isProxySilent,
            ContinuousClock.now - bounds.startedAt >= bounds.connectTimeout
        else { return reason }
        return .proxyUnreachable
    }

    /// Whether there was a tunnel to the host.
    private var isTunnelled: Bool {
        let status = tunnelStatus
        return status == 0 ? firstByte.requestStart != nil : status / 100 == 2
    }

    /// Whether the proxy is there and has not made the tunnel, which it might to another address.
    var isTunnelRefused: Bool {
        let status = tunnelStatus
        return status != 0 && status != 407 && status / 100 != 2
    }

    /// Returns why there is no tunnel; nil if there is one, or if that is not the proxy's doing.
    private func tunnelFailure(_ result: CURLcode) -> CurlError.Code? {
        guard route != nil, !isTunnelled else { return nil }
        switch tunnelStatus {
        case 0:
            if result == CURLE_OPERATION_TIMEDOUT { return isProxySilent ? .proxyUnreachable : nil }
            // The only connection is the one to the proxy.
            let ofConnection = [
                CURLE_COULDNT_CONNECT, CURLE_RECV_ERROR, CURLE_SEND_ERROR, CURLE_GOT_NOTHING,
            ]
            return ofConnection.contains(result) ? .proxyUnreachable : nil
        case 407: return .proxyCredentialRefused
        case 408, 429: return .couldNotConnect
        case 400..<500: return .proxyRefused
        default: return .couldNotConnect
        }
    }

    /// Whether libcurl's words about a failed handshake are those of OpenSSL about the handshake
    /// itself, such as an alert, and not about a connection that broke meanwhile.
    ///
    /// Libcurl begins the latter with "OpenSSL SSL_connect:", and passes on OpenSSL's own text for
    /// the former; an end of the connection has such a text too.
    private static func isRefusal(_ text: String) -> Bool {
        text.contains("SSL routines:") && !text.contains("unexpected eof")
    }

    /// Whether libcurl's words are about an alert with which the server refuses our certificate, or
    /// that we have none.
    ///
    /// In TLS 1.3 (RFC 8446 §4.4.2.4), it comes behind the client's handshake: libcurl meets it
    /// when it reads the answer. The server has not read the request.
    private static func isCertificateAlert(_ text: String) -> Bool {
        isRefusal(text) && text.contains(" alert ")
            && ["certificate", "unknown ca", "access denied"].contains { text.contains($0) }
    }

    /// Whether libcurl's words say that the server has refused the stream, each time that libcurl
    /// has repeated the request (`Curl_retry_request` in lib/transfer.c of 7.88.1).
    ///
    /// Libcurl does so for REFUSED_STREAM, and otherwise only where a connection breaks that it has
    /// given to more than one request. Where it never does that (``isAlone``), the request was not
    /// processed (RFC 9113 §8.7).
    private static func isStreamRefusal(_ text: String) -> Bool {
        text.hasPrefix("Connection died, tried ")
    }

    /// Whether a result means that the connection broke.
    private static func isBreak(_ result: CURLcode) -> Bool {
        result == CURLE_RECV_ERROR || result == CURLE_SEND_ERROR
    }

    /// Whether the whole answer had come before the connection broke; a server may answer and close
    /// before it has read the whole request, which libcurl then still sends.
    private func isAnswered(before result: CURLcode) -> Bool {
        guard Self.isBreak(result), let head else { return false }
        return (!hasBody(head) || head.contentLength != nil) && hasWholeBody(head)
    }

    func hasBody(_ head: ResponseHead) -> Bool {
        !bounds.isHead && head.status != 204 && head.status != 304
    }

    /// Counts the bytes itself: libcurl 7.88 has accepted truncated HTTP/2 bodies as complete.
    private func hasWholeBody(_ head: ResponseHead) -> Bool {
        guard hasBody(head), let length = head.contentLength else { return true }
        // What is decoded had that length before.
        return length
            == (bounds.decodesBody ? easy.offset(CURLINFO_SIZE_DOWNLOAD_T) : bytesReceived)
    }

    private func isFramed(_ head: ResponseHead) -> Bool {
        !hasBody(head) || head.contentLength != nil || head.isChunked
    }

    /// Whether libcurl has decoded the body; it does not tell whether a coded stream has ended.
    private func isDecoded(_ head: ResponseHead) -> Bool {
        bounds.decodesBody && hasBody(head) && !head.codings.isEmpty
    }

    private func summary() -> CurlSummary {
        var summary = CurlSummary()
        summary.bytesReceived = bytesReceived
        summary.bytesSent = easy.offset(CURLINFO_SIZE_UPLOAD_T)
        summary.timings.nameLookup = time(CURLINFO_NAMELOOKUP_TIME_T)
        summary.timings.connect = time(CURLINFO_CONNECT_TIME_T)
        summary.timings.tls = time(CURLINFO_APPCONNECT_TIME_T)
        addOwnTimes(to: &summary.timings)
        summary.requestHeaderBytes = requestHeaderBytes(bytesSent: summary.bytesSent)
        summary.responseHeaderBytes = Int64(easy.long(CURLINFO_HEADER_SIZE))
        if let route {
            let end = isTunnelled ? route.target : nil
            (summary.primaryAddress, summary.primaryPort) = (end?.text, end?.port)
        } else {
            (summary.primaryAddress, summary.primaryPort) = end(
                CURLINFO_PRIMARY_IP,
                CURLINFO_PRIMARY_PORT
            )
        }
        (summary.localAddress, summary.localPort) = end(CURLINFO_LOCAL_IP, CURLINFO_LOCAL_PORT)
        summary.httpVersion = head?.httpVersion
        summary.cookies = easy.cookies
        summary.isAddressDenied = isAddressDenied
        summary.isConnectionReused =
            summary.primaryAddress != nil && easy.long(CURLINFO_NUM_CONNECTS) == 0
        return summary
    }

    /// Returns a time measured by libcurl, which starts after the lookup; zero if never reached.
    private func time(_ info: CURLINFO) -> Duration {
        let microseconds = easy.offset(info)
        return microseconds > 0 ? lookupTime + .microseconds(microseconds) : .zero
    }

    private func addOwnTimes(to timings: inout CurlSummary.Timings) {
        func time(_ instant: ContinuousClock.Instant?) -> Duration {
            instant.map { $0 - bounds.startedAt } ?? .zero
        }
        timings.requestStart = time(firstByte.requestStart)
        // We are asked before the head is sent; libcurl takes this time afterwards.
        let headSent = self.time(CURLINFO_PRETRANSFER_TIME_T)
        timings.requestEnd =
            firstByte.requestEnd == nil ? .zero : max(headSent, time(firstByte.requestEnd))
        timings.firstByte = time(firstByte.responseStart)
        timings.total = time(.now)
    }

    /// Returns libcurl's count of header bytes, without the part of the body that it includes.
    ///
    /// Before 8.7.0 that part is a small body sent together with its head (`Curl_buffer_send` in
    /// lib/http.c of 7.88.1); in versions since, it is the whole body. Some of those count nothing.
    private func requestHeaderBytes(bytesSent: Int64) -> Int64 {
        let countsBody =
            CurlLoop.libraryVersion.number >= CurlLibrary.Version(8, 7, 0)
            || (bounds.hasSmallBody && head?.httpVersion != "2")
        return max(0, Int64(easy.long(CURLINFO_REQUEST_SIZE)) - (countsBody ? bytesSent : 0))
    }

    /// Returns one end of the connection: an address and a port, or nils when there is none.
    private func end(_ address: CURLINFO, _ port: CURLINFO) -> (String?, UInt16?) {
        guard let text = easy.string(address), !text.isEmpty else { return (nil, nil) }
        return (text, UInt16(exactly: easy.long(port)))
    }
}
