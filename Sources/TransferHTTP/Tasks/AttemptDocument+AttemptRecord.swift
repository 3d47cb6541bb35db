import Foundation
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

extension TaskMetricsDocument {
    init(_ metrics: TaskMetrics) {
        self.init(
            createdAt: Timestamp(metrics.createdAt),
            beganAt: metrics.beganAt.map(Timestamp.init),
            finishedAt: metrics.finishedAt.map(Timestamp.init),
            taskInterval: metrics.finishedAt.map {
                max(0, $0.timeIntervalSince(metrics.createdAt))
            },
            redirectCount: metrics.attempts.reduce(0) { $0 + ($1.metrics?.redirects ?? 0) },
            transactions: metrics.attempts.compactMap { attempt in
                attempt.metrics.map { Transaction($0, of: attempt) }
            }
        )
    }
}

extension TaskMetricsDocument.Transaction {
    fileprivate init(_ metrics: AttemptMetrics, of attempt: AttemptRecord) {
        let start = attempt.startedAt.addingTimeInterval(metrics.fetchStart / .seconds(1))
        self.init(
            attempt: attempt.number,
            fetchStartAt: Timestamp(start),
            httpStatus: attempt.httpStatus,
            metrics: AttemptDocument.Metrics(metrics)
        )
    }
}

extension AttemptDocument.Metrics {
    fileprivate init(_ metrics: AttemptMetrics) {
        self.init(
            redirectCount: metrics.redirects,
            countOfConnections: metrics.connections,
            isReusedConnection: metrics.isConnectionReused
        )
        domainLookupEnd = metrics.nameLookup.secondsIfReached
        connectEnd = metrics.connect.secondsIfReached
        secureConnectionEnd = metrics.tls.secondsIfReached
        requestStart = metrics.requestStart.secondsIfReached
        requestEnd = metrics.requestEnd.secondsIfReached
        responseStart = metrics.firstByte.secondsIfReached
        responseEnd = metrics.total.secondsIfReached
        // The names of ALPN (RFC 7301) and of URLSession's networkProtocolName.
        networkProtocolName = metrics.httpVersion.map { $0 == "2" ? "h2" : "http/\($0)" }
        remoteAddress = metrics.remoteAddress
        remotePort = metrics.remotePort
        localAddress = metrics.localAddress
        localPort = metrics.localPort
        countOfRequestHeaderBytesSent = metrics.requestHeaderBytes
        countOfRequestBodyBytesSent = metrics.requestBodyBytes
        countOfResponseHeaderBytesReceived = metrics.responseHeaderBytes
        countOfResponseBodyBytesReceived = metrics.responseBodyBytes
    }
}

extension Duration {
    fileprivate var secondsIfReached: Double? {
        self == .zero ? nil : self / .seconds(1)
    }
}
