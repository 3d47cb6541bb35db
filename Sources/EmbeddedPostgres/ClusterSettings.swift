/// The settings of the server: for a store of jobs on a small machine, and safe in a power cut.
struct ClusterSettings: Sendable {
    private let overrides: [String: String]
    private var values: [String: String]

    /// The settings that are used if the server was built with them.
    ///
    /// After a checkpoint, a submit to many hosts writes the image of a page for each task, and
    /// compressing these by `pglz` was most of its time.
    static let preferences = ["wal_compression": "lz4"]

    /// - Parameters:
    ///   - overrides: what the caller wants otherwise.
    ///   - socketDirectory: where clients find the server.
    init(overrides: [String: String], socketDirectory: String) {
        self.overrides = overrides
        values = Self.defaults.merging(overrides) { _, override in override }
        // Never on the network; users who reach the socket are trusted, see `EmbeddedCluster`.
        values["listen_addresses"] = ""
        values["port"] = "5432"
        values["unix_socket_directories"] = "\"\(socketDirectory)\""
        values["unix_socket_permissions"] = "0700"
    }

    /// Sets a value that the server accepts, unless the caller has set another one.
    mutating func prefer(_ value: String, for name: String) {
        if overrides[name] == nil { values[name] = value }
    }

    /// Bounds the log by the size of its disk, of which it may have a sixteenth, unless the caller
    /// has set a size: on a small one it would take all before it is used again.
    mutating func fit(diskBytes: Int64, logFileBytes: Int64) {
        let bytes = max(diskBytes / Self.logPart, Self.logBytesMin, 2 * logFileBytes)
        guard bytes < Self.logBytesMax else { return }
        prefer("\(bytes >> 20)MB", for: "max_wal_size")
        prefer("\(max(bytes / 2, 2 * logFileBytes) >> 20)MB", for: "min_wal_size")
    }

    /// Bounds what the server keeps in memory by what there is of it, unless the caller has said
    /// otherwise.
    ///
    /// Buffers that have filled are never given back, and beyond the limit of a container the
    /// kernel kills the server again and again. `work_mem` stays, because plans hang on it; of
    /// connections under load an instance has no more than ``connectionsMax(memoryBytes:)`` says.
    mutating func fit(memoryBytes: Int64) {
        let bytes = Self.buffersBytes(memoryBytes: memoryBytes)
        guard bytes < Self.buffersBytesMax else { return }
        prefer("\(bytes >> 20)MB", for: "shared_buffers")
        // Each of three vacuums may take as much; 64 MB by default, where the buffers have 256.
        prefer("\(bytes >> 22)MB", for: "maintenance_work_mem")
    }

    /// Returns the number of connections under load whose processes fit, with the buffers, into
    /// half of the memory: an instance and the files need the other half.
    static func connectionsMax(memoryBytes: Int64) -> Int {
        let bytes = memoryBytes / 2 - buffersBytes(memoryBytes: memoryBytes)
        return max(connectionsMin, Int(clamping: bytes / connectionBytes))
    }

    private static func buffersBytes(memoryBytes: Int64) -> Int64 {
        min(max(memoryBytes / buffersPart, buffersBytesMin), buffersBytesMax)
    }

    /// What the process of a connection keeps that has run every statement: 82 to 98 MB, of which
    /// nearly all are plans.
    private static let connectionBytes: Int64 = 96 << 20
    /// One beside that of a statement which takes long.
    private static let connectionsMin = 2

    private static let buffersPart: Int64 = 8
    private static let buffersBytesMin: Int64 = 32 << 20
    /// As ``defaults`` have it.
    private static let buffersBytesMax: Int64 = 256 << 20

    private static let logPart: Int64 = 16
    private static let logBytesMin: Int64 = 16 << 20
    /// As ``defaults`` have it.
    private static let logBytesMax: Int64 = 2 << 30
    /// The size of a disk below which the files of a new cluster's log have 1 MB.
    ///
    /// Of those of 16 MB, the log soon has four, whatever its bound.
    static let smallDiskBytes: Int64 = 1 << 30

    private static let defaults = [
        "shared_buffers": "256MB",
        // Rows are rewritten often: few checkpoints mean few full page images.
        "max_wal_size": "2GB",
        // Files of the log are used again: a new one is filled with zeros, and all commits wait.
        "min_wal_size": "1GB",
        "checkpoint_timeout": "15min",
        "wal_compression": "on",
        "fsync": "on",
        "synchronous_commit": "on",
        // The queries are short; compiling one costs more than running it.
        "jit": "off",
        // Queues leave dead rows at their head, where the next claim starts.
        "autovacuum_naptime": "10s",
        "max_connections": "64",
        "log_min_messages": "warning",
        "log_line_prefix": "%m [%p] ",
        "log_timezone": "UTC",
        "timezone": "UTC",
    ]

    /// The text of the configuration file.
    var text: String {
        var text = "# Written at every start; changes are lost.\n"
        for (name, value) in values.sorted(by: { $0.key < $1.key }) {
            let quoted = value.split(separator: "'", omittingEmptySubsequences: false)
                .joined(separator: "''")
            text += "\(name) = '\(quoted)'\n"
        }
        return text
    }

    /// Whether the cluster has to be written safely to the disk.
    var isDurable: Bool { values["fsync"] != "off" }
}
