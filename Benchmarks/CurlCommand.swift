import Foundation

/// `curl --parallel`, which keeps no state at all.
struct CurlCommand {
    let folder: Folder
    let parallel: Int
    /// The file of the certificate that it trusts.
    let certificate: String

    /// Downloads `urls`; with `durably`, waits until the files would survive a power cut.
    func download(_ urls: [String], durably: Bool = false) async throws -> Double {
        let target = try folder.directory("curl")
        let lines = urls.enumerated().map { "url = \"\($1)\"\noutput = \"\(target)/\($0)\"\n" }
        let list = try folder.write(lines.joined(), to: "curl.config")
        let start = ContinuousClock.now
        try Program.run(
            "curl",
            [
                "--silent", "--fail", "--parallel", "--parallel-max", "\(parallel)", "--cacert",
                certificate, "--config", list,
            ]
        )
        if durably {
            try Program.run("sync", urls.indices.map { "\(target)/\($0)" })
        }
        return (ContinuousClock.now - start) / .seconds(1)
    }
}
