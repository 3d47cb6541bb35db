import TransferModel

/// The metrics of attempts as an array per column, for `unnest`; all NULL for an attempt without
/// any.
struct MetricsColumns {
    var httpStatuses: [Int16?] = []
    var redirects: [Int16?] = []
    var nameLookups: [Int64?] = []
    var connects: [Int64?] = []
    var tlsHandshakes: [Int64?] = []
    var firstBytes: [Int64?] = []
    var totals: [Int64?] = []
    var areReused: [Bool?] = []
    var httpVersions: [String?] = []
    var remoteAddresses: [String?] = []
    var fetchStarts: [Int64?] = []
    var requestStarts: [Int64?] = []
    var requestEnds: [Int64?] = []
    var requestHeaderBytes: [Int64?] = []
    var requestBodyBytes: [Int64?] = []
    var responseHeaderBytes: [Int64?] = []
    var responseBodyBytes: [Int64?] = []
    var remotePorts: [Int32?] = []
    var localAddresses: [String?] = []
    var localPorts: [Int32?] = []
    var connections: [Int16?] = []

    mutating func append(_ metrics: AttemptMetrics?) {
        httpStatuses.append(metrics?.httpStatus.map(Int16.init(clamping:)))
        redirects.append(metrics.map { Int16(clamping: $0.redirects) })
        nameLookups.append(metrics?.nameLookup.microsecondsIfReached)
        connects.append(metrics?.connect.microsecondsIfReached)
        tlsHandshakes.append(metrics?.tls.microsecondsIfReached)
        firstBytes.append(metrics?.firstByte.microsecondsIfReached)
        totals.append(metrics?.total.microsecondsIfReached)
        areReused.append(metrics?.isConnectionReused)
        httpVersions.append(metrics?.httpVersion)
        remoteAddresses.append(metrics?.remoteAddress)
        fetchStarts.append(metrics?.fetchStart.microsecondsIfReached)
        requestStarts.append(metrics?.requestStart.microsecondsIfReached)
        requestEnds.append(metrics?.requestEnd.microsecondsIfReached)
        requestHeaderBytes.append(metrics?.requestHeaderBytes)
        requestBodyBytes.append(metrics?.requestBodyBytes)
        responseHeaderBytes.append(metrics?.responseHeaderBytes)
        responseBodyBytes.append(metrics?.responseBodyBytes)
        remotePorts.append(metrics?.remotePort.map(Int32.init(clamping:)))
        localAddresses.append(metrics?.localAddress)
        localPorts.append(metrics?.localPort.map(Int32.init(clamping:)))
        connections.append(metrics.map { Int16(clamping: $0.connections) })
    }
}

extension Duration {
    /// The duration in microseconds; nil for zero, which means that the step was not reached.
    fileprivate var microsecondsIfReached: Int64? {
        let (seconds, attoseconds) = components
        let microseconds = seconds * 1_000_000 + attoseconds / 1_000_000_000_000
        return microseconds == 0 ? nil : microseconds
    }
}
