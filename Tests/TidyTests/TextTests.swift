import Testing

@Suite struct TextTests {
    /// A banned call: the places where the ban holds, the files that may use it all the same, and
    /// the code to write instead.
    private struct Ban {
        let call: String
        let folders: [String]
        var exempt: [String] = []
        /// A longer call that starts like the banned one.
        var allowedForm: String?
        let instead: String
    }

    private static let bans = [
        Ban(
            call: "try" + "!",
            folders: SourceTree.sources + ["Tests", "Benchmarks"],
            instead: "throw, or try #require in a test"
        ),
        Ban(
            call: "fatal" + "Error(",
            folders: SourceTree.sources + ["Tests"],
            instead: "a thrown error, or precondition with a sentence for a programmer's error"
        ),
        Ban(
            call: "as" + "! ",
            folders: SourceTree.sources + ["Tests"],
            instead: "as? with a guard"
        ),
        Ban(
            call: "unowned(" + "unsafe)",
            folders: SourceTree.sources + ["Tests"],
            instead: "a strong or weak reference"
        ),
        Ban(
            call: "print" + "(",
            folders: SourceTree.sources,
            exempt: [
                "Sources/transferd/Commands/", "Sources/transferd/Pauses/",
                "Sources/transferd/Tenants/",
                "Sources/transferd/Egress/LimitEgress.swift", "Sources/TransferDemo/",
            ],
            instead: "a Logger"
        ),
        Ban(
            call: ".standardError" + ".write(",
            folders: SourceTree.sources + ["Benchmarks"],
            allowedForm: ".standardError" + ".write(contentsOf:",
            instead: "write(contentsOf:), which throws where the other one ends the process"
        ),
        Ban(
            call: ".standardOutput" + ".write(",
            folders: SourceTree.sources + ["Benchmarks"],
            allowedForm: ".standardOutput" + ".write(contentsOf:",
            instead: "write(contentsOf:), which throws where the other one ends the process"
        ),
        Ban(
            call: "Task" + ".sleep",
            folders: ["Tests"],
            exempt: ["Tests/TransferTestSupport/Processes/Eventually.swift"],
            instead: "the signal or event that the test is about"
        ),
        Ban(
            call: "usleep" + "(",
            folders: ["Tests"],
            exempt: [
                // A body that arrives slowly on purpose.
                "Tests/CurlTests/Loop/DripSource.swift",
                // This runs at the exit of the process, when nothing can be awaited.
                "Tests/TransferTestSupport/Processes/RunDirectory.swift",
            ],
            instead: "the signal or event that the test is about"
        ),
    ]

    /// The maximum number of lines of a file; longer files were reviewed and stay as they are.
    private static let linesMax = 400
    /// The width of the code, as in `.swift-format`, which leaves comments as they are.
    private static let columnsMax = 100
    /// The maximum number of lines of a function, without those of string literals: a statement is
    /// read by its steps.
    private static let functionLinesMax = 70

    @Test func nothingCallsWhatIsBanned() throws {
        for ban in Self.bans {
            for file in try ban.folders.flatMap({ try SourceTree.files($0, "swift") }) {
                guard !ban.exempt.contains(where: { file.path.hasPrefix($0) }) else { continue }
                for line in file.lines {
                    var code = line.text.code
                    if let form = ban.allowedForm { code.replace(form, with: "") }
                    guard code.contains(ban.call) else { continue }
                    Issue.record("\(file.path):\(line.number) \(ban.call): use \(ban.instead)")
                }
            }
        }
    }

    @Test func noFileIsTooLongToBeRead() throws {
        for folder in SourceTree.sources + ["Tests", "Benchmarks"] {
            for file in try SourceTree.files(folder, "swift", "c", "h") {
                #expect(file.lines.count <= Self.linesMax, "split \(file.path)")
            }
        }
    }

    @Test func aFunctionIsReadAtOnce() throws {
        for file in try SourceTree.sourceFiles("swift") {
            for function in file.functions where function.lineCount > Self.functionLinesMax {
                Issue.record("\(file.path):\(function.line): \(function.lineCount) lines, split it")
            }
        }
    }

    @Test func commentsFitTheWidthOfTheCode() throws {
        for folder in SourceTree.sources + ["Tests", "Benchmarks", "Examples", "migrations"] {
            for file in try SourceTree.files(folder, "swift", "c", "h", "sql") {
                for line in file.lines where line.text.count > Self.columnsMax {
                    let text = line.text.drop { $0 == " " }
                    guard text.hasPrefix("//") || text.hasPrefix("-- ") else { continue }
                    Issue.record("\(file.path):\(line.number): break the line")
                }
            }
        }
    }

    @Test func nothingIsLeftForLater() throws {
        let marks = ["TO" + "DO", "FIX" + "ME", "// ==" + "="]
        for folder in SourceTree.sources + ["Tests", "Benchmarks", "migrations", "docker"] {
            for file in try SourceTree.files(folder, "swift", "c", "h", "sql", "yaml") {
                for line in file.lines {
                    for mark in marks where line.text.contains(mark) {
                        Issue.record("\(file.path):\(line.number) \(mark): do it, or open an issue")
                    }
                }
            }
        }
    }

    @Test func onlyTheStoreSpeaksSQL() throws {
        let words = ["SELECT ", "INSERT INTO ", "DELETE FROM ", "UPDATE ", "CREATE TABLE "]
        let homes = ["Sources/TransferStore/", "Sources/Postgres/"]
        for file in try SourceTree.sourceFiles("swift") {
            guard !homes.contains(where: { file.path.hasPrefix($0) }) else { continue }
            for line in file.lines {
                let text = line.text.drop { $0 == " " || $0 == "\"" }
                // Prose may contain UPDATE; a statement starts with it.
                guard !text.hasPrefix("//"), words.contains(where: { text.hasPrefix($0) }) else {
                    continue
                }
                Issue.record("\(file.path):\(line.number): move the statement to TransferStore")
            }
        }
    }

    @Test func migrationsComeInNumberedPairs() throws {
        let names = try SourceTree.names("migrations")
        let ups = names.filter { $0.hasSuffix(".up.sql") }.map { $0.dropLast(".up.sql".count) }
        let downs = names.filter { $0.hasSuffix(".down.sql") }
            .map { $0.dropLast(".down.sql".count) }
        #expect(ups == downs)
        #expect(names.count == ups.count + downs.count)
        for (index, name) in ups.enumerated() {
            let number = String(index + 1)
            let prefix = String(repeating: "0", count: 4 - number.count) + number
            #expect(name.hasPrefix("\(prefix)_"), "\(name)")
        }
    }
}
