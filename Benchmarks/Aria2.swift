import ChildProcess
import Foundation
import TransferWire

/// aria2's RPC daemon, which keeps its queue in memory.
struct Aria2 {
    private let process: ChildProcess
    private let url: String
    private let folder: Folder

    private struct Status: Decodable {
        struct Counts: Decodable {
            let numActive: String
            let numWaiting: String
        }
        let result: Counts
    }

    private static let statusCall =
        #"{"jsonrpc":"2.0","id":"s","method":"aria2.getGlobalStat","params":[]}"#

    init(folder: Folder, parallel: Int) async throws {
        self.folder = folder
        let port = try Program.freePort()
        url = "http://127.0.0.1:\(port)/jsonrpc"
        process = try Program.start(
            "aria2c",
            [
                "--no-conf", "--enable-rpc", "--rpc-listen-port=\(port)", "--quiet",
                "--max-concurrent-downloads=\(parallel)", "--file-allocation=none",
                "--max-connection-per-server=1", "--rpc-max-request-size=64M",
                "--max-download-result=100000", "--allow-overwrite=true",
            ]
        )
        try await Web.untilAnswering(url, json: Self.statusCall)
    }

    func download(_ urls: [String]) async throws -> Double {
        let target = try folder.directory("aria2")
        let calls = urls.enumerated().map { index, url in
            #"{"methodName":"aria2.addUri","params":[["\#(url)"],{"dir":"\#(target)","out":"\#(index)"}]}"#
        }
        let start = ContinuousClock.now
        for first in stride(from: 0, to: calls.count, by: SubmitRequest.tasksMax) {
            let batch = calls[first..<min(first + SubmitRequest.tasksMax, calls.count)]
            _ = try await Web.send(
                "POST",
                url,
                json: #"{"jsonrpc":"2.0","id":"a","method":"system.multicall","params":[["#
                    + batch.joined(separator: ",") + "]]}"
            )
        }
        while true {
            let answer = try await Web.send("POST", url, json: Self.statusCall)
            let counts = try JSONDecoder().decode(Status.self, from: answer).result
            if counts.numActive == "0", counts.numWaiting == "0" { break }
            try await Task.sleep(for: .milliseconds(5))
        }
        return (ContinuousClock.now - start) / .seconds(1)
    }

    /// Downloads one file over 16 connections in a new process.
    func download(overMany url: String) async throws -> Double {
        let target = try folder.directory("aria2")
        let start = ContinuousClock.now
        try Program.run(
            "aria2c",
            [
                "--no-conf", "--quiet", "-x16", "-s16", "-k1M", "--file-allocation=none",
                "--dir=\(target)", url,
            ]
        )
        return (ContinuousClock.now - start) / .seconds(1)
    }

    func stop() { process.signal(SIGTERM) }
}
