import TransferModel
import TransferWebhooks
import TransferWire

extension AttemptDocument {
    init(_ record: AttemptRecord) {
        self.init(
            number: record.number,
            outcome: record.outcome.rawValue,
            startedAt: Timestamp(record.startedAt),
            endedAt: Timestamp(record.endedAt),
            countOfBytesReceived: record.bytesReceived,
            countOfBytesSent: record.bytesSent,
            resumedAtOffset: record.resumedAtOffset,
            httpStatus: record.httpStatus,
            error: record.failure.map(TaskDocument.Failure.init),
            metrics: record.metrics.map(Metrics.init)
        )
    }
}

extension AttemptDocument.Metrics {
    fileprivate init(_ metrics: AttemptMetrics) {
        self.init(
            redirectCount: metrics.redirects,
            isReusedConnection: metrics.isConnectionReused
        )
        domainLookupEnd = metrics.nameLookup.secondsIfReached
        connectEnd = metrics.connect.secondsIfReached
        secureConnectionEnd = metrics.tls.secondsIfReached
        responseStart = metrics.firstByte.secondsIfReached
        responseEnd = metrics.total.secondsIfReached
        // As in ALPN (RFC 7301) and in URLSession's networkProtocolName.
        networkProtocolName = metrics.httpVersion.map { $0 == "2" ? "h2" : "http/\($0)" }
        remoteAddress = metrics.remoteAddress
    }
}

extension Duration {
    fileprivate var secondsIfReached: Double? {
        self == .zero ? nil : self / .seconds(1)
    }
}
