import ChildProcess
import FaultProxy
import Foundation

/// nginx with one small and one large file, the small one under any number of names.
struct Origin {
    private let process: ChildProcess
    private let port: UInt16

    /// Bytes of a small file.
    static let smallBytes = 16 * 1024
    private let tlsPort: UInt16
    /// The SHA-256 of the large file.
    let largeSHA256: String
    /// The file of the certificate that it shows to those who use TLS, and of whoever issued it.
    let certificate: String
    /// The size of the middle file, in MiB.
    let middleMiB: Int
    private let narrow: FaultProxy
    /// The bytes a second of a slow file, which is as large as a small one.
    private static let slowRate = 128
    /// The bytes a second of a paced file, which therefore takes two seconds.
    private static let pacedRate = smallBytes / 2
    /// The most bytes a second of the paced large file, which leave processors free; nginx sends a
    /// little more than half of it.
    private static let largeRate = 500_000_000
    /// The number of addresses that it listens on.
    private static let hosts = 16
    /// The maximum number of connections and open files.
    private static let connectionsMax = 20_000

    /// Makes the files, and starts the server and a line to it on which each connection gets
    /// `narrowRate` bytes a second and each byte takes 20 ms.
    init(folder: Folder, largeBytes: Int, middleBytes: Int, narrowRate: Int64) async throws {
        let www = try folder.directory("www")
        var generator = SystemRandomNumberGenerator()
        func random(_ count: Int) -> Data {
            Data(
                (0..<count / 8).flatMap { _ in
                    withUnsafeBytes(of: generator.next() as UInt64) { Array($0) }
                }
            )
        }
        try random(Self.smallBytes).write(to: URL(fileURLWithPath: "\(www)/small"))
        let block = random(1 << 20)
        for (name, count) in [("large", largeBytes), ("middle", middleBytes)] {
            let url = URL(fileURLWithPath: "\(www)/\(name)")
            try Data().write(to: url)
            let file = try FileHandle(forWritingTo: url)
            for _ in 0..<count >> 20 { try file.write(contentsOf: block) }
            try file.close()
        }
        middleMiB = middleBytes >> 20
        certificate = "\(folder.path)/origin.pem"
        let privateKey = "\(folder.path)/origin-key.pem"
        try Program.run(
            "openssl",
            [
                "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1",
                "-nodes",
                "-keyout", privateKey, "-out", certificate, "-days", "2", "-subj", "/CN=origin",
                "-addext", "subjectAltName=IP:127.0.0.1",
            ]
        )
        let sum = try Program.output("sha256sum", ["\(www)/large"])
        largeSHA256 = String(sum.prefix { $0 != " " })
        port = try Program.freePort()
        tlsPort = try Program.freePort()
        narrow = try FaultProxy(to: port, .slow(delay: .milliseconds(20), rate: narrowRate))
        let port = port
        let listening = (1...Self.hosts).map { "listen 127.0.0.\($0):\(port);" }
            .joined(separator: " ")
        let configuration = try folder.write(
            """
            daemon off; worker_processes 1; error_log /dev/null; pid \(folder.path)/nginx.pid;
            worker_rlimit_nofile \(Self.connectionsMax); events { worker_connections \(Self.connectionsMax); }
            http {
                access_log off; sendfile on; tcp_nopush on; keepalive_requests 1000000;
                client_body_temp_path \(folder.path); proxy_temp_path \(folder.path);
                fastcgi_temp_path \(folder.path); uwsgi_temp_path \(folder.path);
                scgi_temp_path \(folder.path);
                server {
                    \(listening) root \(www);
                    location /small/ { try_files /small =404; }
                    location = /hook { return 204; }
                    location = /requests { stub_status; }
                    location = /paced-large { alias \(www)/large; limit_rate \(Self.largeRate); }
                    location /slow/ { try_files /small =404; limit_rate \(Self.slowRate); }
                    location /paced/ { try_files /small =404; limit_rate \(Self.pacedRate); }
                }
                server {
                    listen 127.0.0.1:\(tlsPort) ssl; root \(www);
                    ssl_certificate \(certificate); ssl_certificate_key \(privateKey);
                }
            }
            """,
            to: "nginx.conf"
        )
        process = try Program.start("nginx", ["-c", configuration])
        try await Web.untilAnswering("http://127.0.0.1:\(port)/small/0")
    }

    func smallURLs(count: Int) -> [String] {
        (0..<count).map { "http://127.0.0.1:\(port)/small/\($0)" }
    }

    /// Returns URLs of slow files on several hosts, because connections to one host are capped.
    func slowURLs(count: Int) -> [String] {
        (0..<count).map { "http://127.0.0.\($0 % Self.hosts + 1):\(port)/slow/\($0)" }
    }

    /// Returns URLs of files that take two seconds each.
    func pacedURLs(count: Int) -> [String] {
        (0..<count).map { "http://127.0.0.1:\(port)/paced/\($0)" }
    }

    var largeURL: String { "http://127.0.0.1:\(port)/large" }

    /// The URL of the large file at a rate that leaves processors free.
    var pacedLargeURL: String { "http://127.0.0.1:\(port)/paced-large" }

    /// The URL of a file behind the narrow line.
    var middleURL: String { "http://127.0.0.1:\(narrow.port)/middle" }

    /// Returns URLs of the middle file without the narrow line, each of them different.
    func middleURLs(count: Int, overTLS: Bool) -> [String] {
        let base = overTLS ? "https://127.0.0.1:\(tlsPort)" : "http://127.0.0.1:\(port)"
        return (0..<count).map { "\(base)/middle?\($0)" }
    }

    /// The URL that accepts webhooks at once.
    var hookURL: String { "http://127.0.0.1:\(port)/hook" }

    /// Returns the number of requests so far, including this one.
    func requestCount() async throws -> Int {
        // The third line holds accepted, handled, requests.
        guard let count = try await status(line: 2).last else {
            throw Program.Failure(description: "nginx does not count")
        }
        return count
    }

    /// Returns the number of requests being answered, without this one.
    func requestsAtOnce() async throws -> Int {
        // The fourth line holds reading, writing, waiting.
        let numbers = try await status(line: 3)
        guard numbers.count == 3 else {
            throw Program.Failure(description: "nginx does not count")
        }
        return numbers[0] + numbers[1] - 1
    }

    /// Returns the numbers in a line of nginx's `stub_status`.
    private func status(line: Int) async throws -> [Int] {
        let text = String(
            decoding: try await Web.send("GET", "http://127.0.0.1:\(port)/requests"),
            as: UTF8.self
        )
        let words = text.split(separator: "\n").dropFirst(line).first?.split(separator: " ") ?? []
        return words.compactMap { Int($0) }
    }

    func stop() {
        narrow.stop()
        process.signal(SIGTERM)
        // It removes files of the folder at its end, which must not happen while that is removed.
        process.waitUntilExit(timeout: .seconds(5))
    }
}
