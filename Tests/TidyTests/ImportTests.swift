import Testing

@Suite struct ImportTests {
    /// The modules of ours and of packages that each target may import, besides the system's.
    private static let allowed: [String: Set<String>] = [
        "PollLoop": ["CLinux"],
        "Curl": ["CCurl", "PollLoop"],
        "Postgres": ["CLibPQ", "PollLoop"],
        "EmbeddedPostgres": ["CLinux", "Logging"],
        "TransferModel": ["Crypto"],
        "TransferStore": ["TransferModel", "Postgres", "Crypto", "Logging"],
        "TransferContainer": ["TransferModel", "CLinux", "Crypto"],
        "TransferSecrets": ["TransferModel", "Crypto"],
        "TransferEngine": [
            "TransferModel", "TransferStore", "TransferContainer", "TransferSecrets", "Curl",
            "CLinux", "PollLoop",
            "Logging", "ServiceLifecycle",
        ],
        "TransferWebhooks": [
            "TransferModel", "TransferStore", "TransferWire", "Curl", "Crypto", "Logging",
            "ServiceLifecycle",
        ],
        "TransferWire": [],
        "TransferHTTP": [
            "TransferModel", "TransferStore", "TransferWebhooks", "TransferWire", "CLinux",
            "TransferContainer", "TransferSecrets", "Crypto",
            "Hummingbird",
            "HTTPTypes", "Logging", "ServiceLifecycle", "NIOCore", "NIOHTTPTypes",
            "HummingbirdCore", "NIOHTTP1", "NIOPosix",
        ],
    ]
    private static let system: Set<String> = [
        "Dispatch", "Foundation", "FoundationEssentials", "Glibc", "Synchronization",
    ]

    @Test(arguments: allowed.keys.sorted())
    func aTargetImportsOnlyWhatItsPlaceAllows(target: String) throws {
        let allowed = try #require(Self.allowed[target]).union(Self.system)
        let files = try SourceTree.files("Sources/\(target)", "swift")
        #expect(!files.isEmpty)
        for file in files {
            for line in file.lines {
                guard let module = Self.module(line.text) else { continue }
                #expect(allowed.contains(module), "\(file.path):\(line.number) imports \(module)")
            }
        }
    }

    @Test func nobodyImportsTheProgram() throws {
        for file in try SourceTree.files("Sources", "swift") {
            for line in file.lines {
                #expect(Self.module(line.text) != "transferd", "\(file.path):\(line.number)")
            }
        }
    }

    @Test func everyTargetOfTheLibraryHasItsRule() throws {
        let others: Set = ["CLinux", "CCurl", "CLibPQ", "transferd", "TransferDemo"]
        let names = try SourceTree.names("Sources").filter { !others.contains($0) }
        #expect(Set(names) == Set(Self.allowed.keys))
    }

    /// Returns the module of an import declaration.
    private static func module(_ line: Substring) -> String? {
        var words = line.split(separator: " ")[...]
        while let word = words.first, word != "import" {
            guard
                word.hasPrefix("@") || ["package", "public", "internal", "private"].contains(word)
            else { return nil }
            words = words.dropFirst()
        }
        // `import struct Module.Name` names its module before the dot.
        let kinds: Set<Substring> = ["struct", "class", "enum", "func", "protocol", "typealias"]
        words = words.dropFirst()
        if let kind = words.first, kinds.contains(kind) { words = words.dropFirst() }
        return words.first.map { String($0.prefix { $0 != "." }) }
    }
}
