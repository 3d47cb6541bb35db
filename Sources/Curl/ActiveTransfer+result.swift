import CCurl

extension ActiveTransfer {
    /// What has happened, in the words of ``CurlSink``; ask before the handle is reset.
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
        let code: CurlError.Code
        if let reason = reason ?? cause {
            code = reason
        } else if let result, result != CURLE_OK {
            let isConnected = summary.primaryAddress != nil
            code =
                result == CURLE_COULDNT_CONNECT && isEgressDenied
                ? .egressDenied : CurlError.Code(result, isConnected: isConnected)
        } else if let head {
            guard hasWholeBody(head) else {
                return .failure(CurlError(.truncated, summary: summary))
            }
            summary.isLengthVerified = isFramed(head)
            return .success(summary)
        } else {
            code = .badResponse
        }
        let curlCode = Int32(bitPattern: result?.rawValue ?? 0)
        return .failure(CurlError(code, curlCode: curlCode, summary: summary))
    }

    private func hasBody(_ head: ResponseHead) -> Bool {
        !bounds.isHead && head.status != 204 && head.status != 304
    }

    /// Counts for ourselves: libcurl 7.88 has taken cut HTTP/2 bodies for whole ones.
    private func hasWholeBody(_ head: ResponseHead) -> Bool {
        guard hasBody(head), let length = head.contentLength else { return true }
        return bytesReceived == length
    }

    private func isFramed(_ head: ResponseHead) -> Bool {
        !hasBody(head) || head.contentLength != nil || head.isChunked
    }

    private func summary() -> CurlSummary {
        var summary = CurlSummary()
        summary.bytesReceived = bytesReceived
        summary.bytesSent = easy.offset(CURLINFO_SIZE_UPLOAD_T)
        summary.timings.nameLookup = .microseconds(easy.offset(CURLINFO_NAMELOOKUP_TIME_T))
        summary.timings.connect = .microseconds(easy.offset(CURLINFO_CONNECT_TIME_T))
        summary.timings.tls = .microseconds(easy.offset(CURLINFO_APPCONNECT_TIME_T))
        summary.timings.firstByte = .microseconds(easy.offset(CURLINFO_STARTTRANSFER_TIME_T))
        summary.timings.total = ContinuousClock.now - bounds.startedAt
        let address = easy.string(CURLINFO_PRIMARY_IP) ?? ""
        summary.primaryAddress = address.isEmpty ? nil : address
        summary.httpVersion = head?.httpVersion
        summary.isConnectionReused =
            summary.primaryAddress != nil && easy.long(CURLINFO_NUM_CONNECTS) == 0
        return summary
    }
}
