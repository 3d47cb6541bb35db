import Foundation

/// `curl --parallel`, which keeps no state at all.
struct CurlCommand {
    let folder: Folder
    let parallel: Int

    func download(_ urls: [String]) async throws -> Double {
        let target = try folder.directory("curl")
        let lines = urls.enumerated().map { "url = \"\($1)\"\noutput = \"\(target)/\($0)\"\n" }
        let list = try folder.write(lines.joined(), to: "curl.config")
        let start = ContinuousClock.now
        try Program.run(
            "curl",
            [
                "--silent", "--fail", "--parallel", "--parallel-max", "\(parallel)", "--config",
                list,
            ]
        )
        return (ContinuousClock.now - start) / .seconds(1)
    }
}
