import ChildProcess
import Foundation
import Glibc
import Testing
import TransferTestSupport

/// Tests with real processes: the shell and what it starts.
@Suite(.timeLimit(.minutes(1))) struct ChildProcessTests {
    /// A number that no other descriptor of the tests has.
    private static let highDescriptor: Int32 = 900

    private static func shell(
        _ script: String,
        output: ChildProcess.Output = .piped,
        isGroupLeader: Bool = false
    ) throws -> ChildProcess {
        try ChildProcess("sh", ["-c", script], output: output, isGroupLeader: isGroupLeader)
    }

    private static func text(_ process: ChildProcess) async -> String? {
        await process.line().map { String(decoding: $0, as: UTF8.self) }
    }

    @Test func tellsStatusesFromSignals() async throws {
        #expect(try await Self.shell("exit 7").exit() == .status(7))
        #expect(try await Self.shell("kill -USR1 $$").exit() == .signal(SIGUSR1))
        #expect(try await Self.shell("exit 7").status() == 7)
        #expect(try await Self.shell("kill -USR1 $$").status() == 128 + SIGUSR1)
        #expect(try Self.shell("exit 7").waitUntilExit() == .status(7))
    }

    @Test func theEndIsThereForEveryCallerAndLater() async throws {
        let process = try Self.shell("read line <&0; exit 3")
        async let first = process.exit()
        async let second = process.exit()
        let both = await [first, second]
        #expect(both == [.status(3), .status(3)])
        #expect(process.waitUntilExit() == .status(3))
        #expect(await process.stop(within: .seconds(30)) == .status(3))
    }

    @Test func aMissingProgramIsRefused() throws {
        let path = "/nowhere/program"
        let error = #expect(throws: ChildProcess.StartError.self) { try ChildProcess(path) }
        #expect(error?.code == ENOENT)
        #expect(error.map { "\($0)" } == "/nowhere/program: No such file or directory")
    }

    @Test func itHasItsFolderEnvironmentAndOutput() async throws {
        let folder = try TestFolder("child")
        let process = try ChildProcess(
            "/bin/sh",
            ["-c", #"echo "$PWD $NAME $HOME"; echo error >&2"#],
            in: folder.path,
            environment: ["NAME": "value"],
            output: .piped,
            errors: .overwriting("\(folder.path)/errors")
        )
        #expect(await Self.text(process) == "\(folder.path) value \n")
        #expect(await Self.text(process) == nil)
        #expect(await process.exit() == .status(0))
        #expect(try String(contentsOfFile: "\(folder.path)/errors", encoding: .utf8) == "error\n")
    }

    @Test func aFileIsOverwrittenOrContinued() async throws {
        let folder = try TestFolder("child")
        let path = "\(folder.path)/output"
        for (output, expected) in [
            (ChildProcess.Output.appending(path), "one\n"), (.appending(path), "one\none\n"),
            (.overwriting(path), "one\n"),
        ] {
            #expect(try await Self.shell("echo one", output: output).exit() == .status(0))
            #expect(try String(contentsOfFile: path, encoding: .utf8) == expected)
        }
    }

    @Test func aLineIsBounded() async throws {
        let process = try Self.shell("head -c 1000000 /dev/zero")
        let first = try #require(await process.line())
        #expect(first.count < 200_000)
        var rest = 0
        while let data = await process.line() { rest += data.count }
        #expect(first.count + rest == 1_000_000)
    }

    @Test func theEndOfADescendantIsNotWaitedFor() async throws {
        let process = try Self.shell("sleep 300 & echo $!")
        let line = await Self.text(process)?.dropLast()
        let descendant = try #require(line.flatMap { pid_t($0) })
        #expect(await process.exit() == .status(0))
        // It is still there.
        #expect(kill(descendant, SIGKILL) == 0)
    }

    @Test func stoppingAsksFirst() async throws {
        let process = try Self.shell("trap 'exit 5' TERM; echo ready; while :; do sleep 0.01; done")
        #expect(await Self.text(process) == "ready\n")
        #expect(await process.stop(within: .seconds(50)) == .status(5))
    }

    @Test func stoppingKillsTheWholeGroupInTheEnd() async throws {
        let process = try Self.shell(
            "trap '' TERM; sleep 300 & echo ready; wait",
            isGroupLeader: true
        )
        #expect(await Self.text(process) == "ready\n")
        #expect(getpgid(process.pid) == process.pid)
        #expect(await process.stop(within: .milliseconds(100)) == .signal(SIGKILL))
        // The output ends with the last process that has it.
        #expect(await Self.text(process) == nil)
    }

    /// The group's number may be that of another one by then.
    @Test func killingItAfterItsEndLeavesItsGroup() async throws {
        var ends: [Int32] = [-1, -1]
        let code = pipe(&ends)
        try #require(code == 0)
        let gate = FileHandle(fileDescriptor: ends[1], closeOnDealloc: true)
        let reader = FileHandle(fileDescriptor: ends[0], closeOnDealloc: true)
        let process = try ChildProcess(
            "sh",
            ["-c", "{ read line <&3; echo alive; } & echo ready"],
            output: .piped,
            passing: reader.fileDescriptor,
            isGroupLeader: true
        )
        #expect(await Self.text(process) == "ready\n")
        #expect(await process.exit() == .status(0))
        process.kill()
        try gate.write(contentsOf: Data("on\n".utf8))
        #expect(await Self.text(process) == "alive\n")
        // Without a reader, the write would end this process.
        withExtendedLifetime(reader) {}
    }

    @Test func withoutAGroupOfItsOwnItIsKilledAlone() async throws {
        let process = try Self.shell("echo ready; exec sleep 300")
        #expect(await Self.text(process) == "ready\n")
        #expect(getpgid(process.pid) == getpgrp())
        process.kill()
        #expect(await process.exit() == .signal(SIGKILL))
    }

    @Test func aTimeoutKills() throws {
        let process = try Self.shell("exec sleep 300")
        #expect(process.waitUntilExit(timeout: .milliseconds(100)) == .signal(SIGKILL))
    }

    @Test func aBlockedSignalReachesIt() throws {
        var blocked = sigset_t()
        var before = sigset_t()
        sigemptyset(&blocked)
        sigaddset(&blocked, SIGUSR1)
        pthread_sigmask(SIG_BLOCK, &blocked, &before)
        defer { pthread_sigmask(SIG_SETMASK, &before, nil) }
        #expect(try Self.shell("kill -USR1 $$; exit 3").waitUntilExit() == .signal(SIGUSR1))
    }

    @Test func itInheritsNoOpenDescriptor() async throws {
        let descriptor = fcntl(STDERR_FILENO, F_DUPFD, Self.highDescriptor)
        try #require(descriptor >= Self.highDescriptor)
        defer { close(descriptor) }
        let script = "[ -e /proc/self/fd/\(descriptor) ] && echo open || echo closed"
        #expect(try await Self.text(Self.shell(script)) == "closed\n")
    }

    @Test func itHasTheDescriptorsThatAreNamed() async throws {
        let folder = try TestFolder("child")
        try folder.write("question", to: "input")
        let input = open("\(folder.path)/input", O_RDONLY | O_CLOEXEC)
        let further = open("\(folder.path)/further", O_WRONLY | O_CREAT | O_CLOEXEC, 0o600)
        try #require(input >= 0 && further >= 0)
        defer {
            close(input)
            close(further)
        }
        let process = try ChildProcess(
            "sh",
            ["-c", "cat; echo answer >&3"],
            input: input,
            output: .piped,
            passing: further
        )
        #expect(await Self.text(process) == "question")
        #expect(await process.exit() == .status(0))
        #expect(try String(contentsOfFile: "\(folder.path)/further", encoding: .utf8) == "answer\n")
    }

    @Test func whatItHoldsIsFreedAtItsEnd() async throws {
        weak var held: TestFolder?
        let process: ChildProcess
        do {
            let folder = try TestFolder("child")
            held = folder
            process = try ChildProcess("sleep", ["300"], in: folder.path, holding: folder)
        }
        #expect(held != nil)
        process.kill()
        #expect(await process.exit() == .signal(SIGKILL))
        try await eventually("the folder is freed") { held == nil }
    }
}
