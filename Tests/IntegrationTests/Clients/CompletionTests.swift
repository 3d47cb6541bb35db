import ChildProcess
import Foundation
import Testing
import TransferTestSupport

/// The completion of `transferctl`, in the shells that it is made for.
@Suite(.timeLimit(.minutes(3))) struct CompletionTests {
    /// What is typed before the tab key, and the word that it becomes.
    private static let cases = [
        ("transferctl att", "attach"), ("transferctl deliveries rep", "replay"),
        ("transferctl get --outp", "--output"), ("transferctl contexts rem", "remove"),
    ]

    /// Makes the script for a shell, in a file of a folder.
    private func script(for shell: String, _ folder: TestFolder, _ name: String) async throws {
        let made = try ChildProcess(
            TransferctlStage.program,
            ["--generate-completion-script", shell],
            environment: Program.environment,
            output: .overwriting("\(folder.path)/\(name)")
        )
        #expect(await made.status() == 0)
    }

    /// Runs a program of a shell, and returns what it prints.
    private func output(_ command: [String], _ folder: TestFolder) async throws -> String {
        let run = try ChildProcess(
            command[0],
            Array(command.dropFirst()),
            environment: Program.environment.merging(["HOME": folder.path]) { $1 },
            output: .overwriting("\(folder.path)/output"),
            errors: .overwriting("\(folder.path)/errors")
        )
        let status = await run.status()
        let errors = try String(contentsOfFile: "\(folder.path)/errors", encoding: .utf8)
        #expect(status == 0, "\(errors)")
        return try String(contentsOfFile: "\(folder.path)/output", encoding: .utf8)
    }

    @Test func bash() async throws {
        let folder = try TestFolder("bash")
        try await script(for: "bash", folder, "completion")
        for (line, word) in Self.cases {
            let words = line.split(separator: " ")
            let ask = """
                source \(folder.path)/completion
                COMP_WORDS=(\(line)) COMP_CWORD=\(words.count - 1)
                COMP_LINE='\(line)' COMP_POINT=\(line.utf8.count)
                $(complete -p transferctl | sed 's/.*-F \\([^ ]*\\).*/\\1/') \
                  transferctl \(words[words.count - 1]) \(words[words.count - 2])
                echo "${COMPREPLY[@]}"
                """
            #expect(try await output(["bash", "-c", ask], folder) == "\(word)\n")
        }
    }

    @Test func fish() async throws {
        let folder = try TestFolder("fish")
        try await script(for: "fish", folder, "completion")
        for (line, word) in Self.cases {
            let ask = "source \(folder.path)/completion; complete --do-complete '\(line)'"
            let answer = try await output(["fish", "--no-config", "-c", ask], folder)
            // A description follows the word after a tab.
            let offered = answer.split(separator: "\n").map { $0.split(separator: "\t")[0] }
            #expect(offered.contains { $0 == word }, "\(answer)")
        }
    }

    @Test func zsh() async throws {
        let folder = try TestFolder("zsh")
        try await script(for: "zsh", folder, "_transferctl")
        // The keys of a user on a terminal: zsh completes nowhere else.
        let start = """
            PS1='ready> '; fpath=(\(folder.path) $fpath)
            autoload -U compinit; compinit -u -D; transferctl() { echo "typed: $*." }
            """
        let keyboard = Pipe()
        let terminal = try ChildProcess(
            "script",
            ["--quiet", "--flush", "--return", "--command", "zsh -f -i", "/dev/null"],
            environment: Program.environment.merging(["TERM": "dumb"]) { $1 },
            input: keyboard.fileHandleForReading.fileDescriptor,
            output: .overwriting("\(folder.path)/terminal")
        )
        defer { terminal.kill() }
        func shown() throws -> String {
            try String(contentsOfFile: "\(folder.path)/terminal", encoding: .utf8)
        }
        func press(_ keys: String) throws {
            try keyboard.fileHandleForWriting.write(contentsOf: Data(keys.utf8))
        }
        try press("\(start.replacing("\n", with: "; "))\n")
        try await eventually("zsh is ready") { try shown().contains("\rready> ") }
        for (line, word) in Self.cases {
            let words = line.split(separator: " ").dropFirst().dropLast() + [Substring(word)]
            try press("\(line)\t\n")
            // Of options, it shows first what they are.
            let expected =
                word.hasPrefix("-") ? "\(word)  -- " : "typed: \(words.joined(separator: " "))."
            try await eventually("zsh has completed \(line)") { try shown().contains(expected) }
        }
        try press("exit\n")
        #expect(await terminal.status() == 0)
    }
}
