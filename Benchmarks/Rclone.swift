import ChildProcess
import Foundation

/// `rclone rcd`, which keeps its queue in memory and does not flush; each request is one file.
struct Rclone {
    private let process: ChildProcess
    private let base: String
    private let folder: Folder
    private let parallel: Int

    init(folder: Folder, parallel: Int, certificate: String) async throws {
        self.folder = folder
        self.parallel = parallel
        let port = try Program.freePort()
        base = "http://127.0.0.1:\(port)"
        process = try Program.start(
            "rclone",
            [
                "rcd", "--rc-no-auth", "--rc-addr", "127.0.0.1:\(port)", "--config", "/dev/null",
                "--transfers", "\(parallel)", "--use-server-modtime", "--log-level", "ERROR",
                "--rc-job-expire-duration", "10m", "--ca-cert", certificate,
            ]
        )
        try await Web.untilAnswering("\(base)/rc/noop", json: "{}")
    }

    /// Downloads `urls`, always as many at once as there are connections to the daemon.
    ///
    /// - Returns: seconds from before the first request until the last one is answered, which is
    ///   when its file is there.
    func download(_ urls: [String]) async throws -> Double {
        let target = try folder.directory("rclone")
        let requests = urls.enumerated().map { index, url in
            HTTPLoad.post(
                "/operations/copyurl",
                to: base,
                json: #"{"fs":"\#(target)","remote":"\#(index)","url":"\#(url)"}"#
            )
        }
        let seconds = try await HTTPLoad(base: base, connections: parallel).send(requests)
        let count = try FileManager.default.contentsOfDirectory(atPath: target).count
        guard count == urls.count else {
            throw Program.Failure(description: "rclone made \(count) of \(urls.count) files")
        }
        return seconds
    }

    func stop() { process.signal(SIGTERM) }
}
