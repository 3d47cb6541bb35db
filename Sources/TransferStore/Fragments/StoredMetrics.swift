import TransferModel

/// The metrics of an attempt as text: a line of numbers, and a line for each text.
///
/// Each value is known by its place, and one that is missing at the end reads as zero or nil: a new
/// one is added behind the others of its kind, and no row has to be rewritten.
enum StoredMetrics {
    static func text(of metrics: AttemptMetrics) -> String {
        // Bytes: adding texts to a text was a seventh of what Swift does for a claim and an end.
        var text: [UInt8] = []
        text.reserveCapacity(192)
        func add(_ number: Int64) {
            text.append(decimal: number)
            text.append(UInt8(ascii: " "))
        }
        func add(_ time: Duration) { add(time.microseconds) }
        func add(_ number: Int?) { add(Int64(number ?? 0)) }
        add(metrics.fetchStart)
        add(metrics.nameLookup)
        add(metrics.connect)
        add(metrics.tls)
        add(metrics.requestStart)
        add(metrics.requestEnd)
        add(metrics.firstByte)
        add(metrics.total)
        add(metrics.requestHeaderBytes)
        add(metrics.requestBodyBytes)
        add(metrics.responseHeaderBytes)
        add(metrics.responseBodyBytes)
        add(metrics.redirects)
        add(metrics.connections)
        add(metrics.httpStatus)
        add(metrics.remotePort)
        add(metrics.localPort)
        add(metrics.isConnectionReused ? 1 : 0)
        for word in [metrics.httpVersion, metrics.remoteAddress, metrics.localAddress] {
            text.append(UInt8(ascii: "\n"))
            if let word { text.append(contentsOf: word.utf8) }
        }
        return String(decoding: text, as: UTF8.self)
    }

    static func metrics(_ text: String) throws(StoreError) -> AttemptMetrics {
        let lines = text.utf8.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
        var numbers = try lines[0].split(separator: UInt8(ascii: " "))
            .map { word throws(StoreError) in
                guard let number = String(word).flatMap({ Int64($0) }) else {
                    throw StoreError(decoding: "a stored measurement is no number")
                }
                return number
            }[...]
        func number() -> Int64 { numbers.popFirst() ?? 0 }
        func time() -> Duration { .microseconds(number()) }
        /// Zero stands for what is unknown.
        func known() -> Int? {
            let number = Int(number())
            return number == 0 ? nil : number
        }
        func word(_ line: Int) -> String? {
            lines.count > line && !lines[line].isEmpty ? String(lines[line]) : nil
        }
        var metrics = AttemptMetrics()
        metrics.fetchStart = time()
        metrics.nameLookup = time()
        metrics.connect = time()
        metrics.tls = time()
        metrics.requestStart = time()
        metrics.requestEnd = time()
        metrics.firstByte = time()
        metrics.total = time()
        metrics.requestHeaderBytes = number()
        metrics.requestBodyBytes = number()
        metrics.responseHeaderBytes = number()
        metrics.responseBodyBytes = number()
        metrics.redirects = Int(number())
        metrics.connections = Int(number())
        metrics.httpStatus = known()
        metrics.remotePort = known()
        metrics.localPort = known()
        metrics.isConnectionReused = number() == 1
        metrics.httpVersion = word(1)
        metrics.remoteAddress = word(2)
        metrics.localAddress = word(3)
        return metrics
    }
}

extension [UInt8] {
    fileprivate mutating func append(decimal number: Int64) {
        // Most are zero, and none is often below it.
        if (0..<10).contains(number) { return append(UInt8(ascii: "0") + UInt8(number)) }
        if number < 0 { append(UInt8(ascii: "-")) }
        let start = count
        var rest = number.magnitude
        repeat {
            append(UInt8(ascii: "0") + UInt8(rest % 10))
            rest /= 10
        } while rest > 0
        self[start...].reverse()
    }
}

extension Duration {
    /// The duration in whole microseconds.
    fileprivate var microseconds: Int64 {
        let (seconds, attoseconds) = components
        return seconds * 1_000_000 + attoseconds / 1_000_000_000_000
    }
}
