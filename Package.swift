// swift-tools-version: 6.3
import PackageDescription

let swiftSettings: [SwiftSetting] = [
    .swiftLanguageMode(.v6),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .treatAllWarnings(as: .error),
]

/// The two targets that hold C handles also mark each unsafe expression.
let memorySafeSettings = swiftSettings + [.strictMemorySafety()]

let hummingbird: Target.Dependency = .product(name: "Hummingbird", package: "hummingbird")
let logging: Target.Dependency = .product(name: "Logging", package: "swift-log")
let crypto: Target.Dependency = .product(name: "Crypto", package: "swift-crypto")
let lifecycle: Target.Dependency = .product(
    name: "ServiceLifecycle",
    package: "swift-service-lifecycle"
)
let unixSignals: Target.Dependency = .product(
    name: "UnixSignals",
    package: "swift-service-lifecycle"
)
let argumentParser: Target.Dependency = .product(
    name: "ArgumentParser",
    package: "swift-argument-parser"
)

let heap: Target.Dependency = .product(name: "HeapModule", package: "swift-collections")
let deque: Target.Dependency = .product(name: "DequeModule", package: "swift-collections")
let structuredFields: Target.Dependency = .product(
    name: "RawStructuredFieldValues",
    package: "swift-http-structured-headers"
)

let tls: Target.Dependency = .product(name: "NIOSSL", package: "swift-nio-ssl")

let wire: Target.Dependency = .product(name: "TransferWire", package: "transferd-client")
let standardWebhooks: Target.Dependency = .product(
    name: "StandardWebhooks",
    package: "transferd-client"
)
let client: Target.Dependency = .product(name: "TransferClient", package: "transferd-client")
let clientTransport: Target.Dependency = .product(
    name: "TransferURLSession",
    package: "transferd-client"
)
let clientRoutes: Target.Dependency = .product(
    name: "TransferHummingbird",
    package: "transferd-client"
)

let package = Package(
    name: "transferd",
    platforms: [.macOS(.v15)],
    products: [
        .executable(name: "transferd", targets: ["transferd"]),
        .executable(name: "transferctl", targets: ["transferctl"]),
    ],
    dependencies: [
        // What the service and its clients share, and the client itself.
        .package(name: "transferd-client", path: "clients/swift", traits: ["Hummingbird"]),
        // The HTTP server: strict framing on SwiftNIO's sockets (docs/decisions/0001).
        .package(url: "https://github.com/hummingbird-project/hummingbird", from: "2.28.0"),
        // The command line of `transferd` and the demo, with help texts and checked options.
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.0"),
        // Structured logs behind one API that the HTTP server already uses.
        .package(url: "https://github.com/apple/swift-log", from: "1.16.0"),
        // Starts and stops every long-running part in order, on signals.
        .package(url: "https://github.com/swift-server/swift-service-lifecycle", from: "2.13.0"),
        // HMAC and SHA-2 for webhook signatures, API keys and fingerprints.
        .package(url: "https://github.com/apple/swift-crypto", from: "4.5.0"),
        // Heaps and queues of timers, connections and their callers.
        .package(url: "https://github.com/apple/swift-collections", from: "1.6.0"),
        // TLS for the API (docs/decisions/0050).
        .package(url: "https://github.com/apple/swift-nio-ssl", from: "2.37.0"),
        // Reads fields of RFC 9651, such as digests.
        .package(url: "https://github.com/apple/swift-http-structured-headers", from: "1.7.0"),
        // Reads `openapi.yaml` in the tests that hold the router to it.
        .package(url: "https://github.com/jpsim/Yams", from: "6.2.0"),
    ],
    targets: [
        // System calls without a Swift import: epoll, openat2, renameat2, syncfs, closefrom.
        .target(name: "CLinux"),
        // Typed shims for libcurl's variadic setopt and getinfo.
        .target(name: "CCurl", linkerSettings: [.linkedLibrary("curl")]),
        // Module map of libpq.
        .systemLibrary(
            name: "CLibPQ",
            pkgConfig: "libpq",
            providers: [.apt(["libpq-dev"])]
        ),
        // One thread with an epoll set, timers and a mailbox, the executor of what is confined to
        // it; the pauses between tries.
        .target(name: "PollLoop", dependencies: ["CLinux", heap], swiftSettings: swiftSettings),
        // The threads that run all tasks which are confined to no executor.
        .target(
            name: "TaskThreads",
            dependencies: ["CLinux", "PollLoop", heap, deque],
            swiftSettings: swiftSettings
        ),
        // libcurl's multi interface on an event loop.
        .target(
            name: "Curl",
            dependencies: ["CCurl", "PollLoop"],
            swiftSettings: memorySafeSettings
        ),
        // libpq: connections in pipeline mode on an event loop, and a bounded pool.
        .target(
            name: "Postgres",
            dependencies: ["CLibPQ", "CLinux", "PollLoop", deque],
            swiftSettings: memorySafeSettings
        ),
        // Programs that run beside this one.
        .target(name: "ChildProcess", dependencies: ["CLinux"], swiftSettings: swiftSettings),
        // A private PostgreSQL cluster in the data directory.
        .target(
            name: "EmbeddedPostgres",
            dependencies: ["ChildProcess", "CLinux", "PollLoop", logging],
            swiftSettings: swiftSettings
        ),
        // Pure values: sessions, tasks, events, policies and their state machines.
        .target(
            name: "TransferModel",
            dependencies: [standardWebhooks, crypto, structuredFields],
            swiftSettings: swiftSettings
        ),
        // Seals the secrets that the database keeps.
        .target(
            name: "TransferSecrets",
            dependencies: ["TransferModel", crypto],
            swiftSettings: swiftSettings
        ),
        // All SQL, one verb a function, and the migrator.
        .target(
            name: "TransferStore",
            dependencies: [
                "TransferModel", "TransferSecrets", "Postgres", "PollLoop", standardWebhooks,
                crypto, logging,
            ],
            swiftSettings: swiftSettings
        ),
        // The directory of all results and sources, opened beneath its root only; checksums of
        // files.
        .target(
            name: "TransferContainer",
            dependencies: ["TransferModel", "CLinux", crypto],
            swiftSettings: swiftSettings
        ),
        // Counters and histograms, the list of all metrics, Prometheus' text form, and how many
        // lines of a kind are logged.
        .target(name: "TransferMetrics", swiftSettings: swiftSettings),
        // Claims tasks, transfers and completes them; rescues those of dead workers.
        .target(
            name: "TransferEngine",
            dependencies: [
                "TransferModel", "TransferStore", "TransferContainer", "TransferMetrics", wire,
                "Curl", "PollLoop", heap, logging, lifecycle,
            ],
            swiftSettings: swiftSettings
        ),
        // Delivers the events of sessions to subscriptions as signed webhooks.
        .target(
            name: "TransferWebhooks",
            dependencies: [
                "TransferModel", "TransferStore", wire, standardWebhooks, "TransferMetrics", "Curl",
                "CLinux", "PollLoop", crypto, logging, lifecycle,
            ],
            swiftSettings: swiftSettings
        ),
        // Routes, authentication and problem details.
        .target(
            name: "TransferHTTP",
            dependencies: [
                "TransferModel", "TransferStore", wire, "TransferWebhooks",
                "TransferContainer", "TransferMetrics", "CLinux", "PollLoop",
                standardWebhooks, crypto, deque, hummingbird, tls, lifecycle, logging,
            ],
            swiftSettings: swiftSettings
        ),
        // The program: configuration, commands and the composition of everything above.
        .executableTarget(
            name: "transferd",
            dependencies: [
                "TransferModel", "TransferStore", wire, "TransferContainer",
                "TransferSecrets", "TransferMetrics", "TransferEngine", "TransferWebhooks",
                "TransferHTTP", "EmbeddedPostgres", "Postgres", "Curl", "PollLoop", "TaskThreads",
                "CLinux", argumentParser, hummingbird, lifecycle, logging,
            ],
            swiftSettings: swiftSettings
        ),
        // The command line for users of the service.
        .executableTarget(
            name: "transferctl",
            dependencies: [
                .target(name: "CLinux", condition: .when(platforms: [.linux])), client, wire,
                standardWebhooks, argumentParser, hummingbird, logging, unixSignals,
            ],
            swiftSettings: swiftSettings
        ),
        // A small origin, a webhook receiver and a client that shows the service at work.
        .executableTarget(
            name: "transferd-demo",
            dependencies: [
                "ChildProcess", client, wire, standardWebhooks, argumentParser, crypto, hummingbird,
                lifecycle, logging,
            ],
            path: "Sources/TransferDemo",
            swiftSettings: swiftSettings
        ),
        // A service whose work transferd schedules, as in the guide to BGTaskScheduler.
        .executableTarget(
            name: "color-feed",
            dependencies: [
                client, wire, standardWebhooks, clientRoutes, argumentParser, hummingbird,
            ],
            path: "Examples/ColorFeed",
            swiftSettings: swiftSettings
        ),
        // A program whose downloads go on without it, as in the guide to clients.
        .executableTarget(
            name: "album",
            dependencies: [client, wire, argumentParser],
            path: "Examples/Album",
            swiftSettings: swiftSettings
        ),
        // Measures the service beside its peers; `make bench`.
        .executableTarget(
            name: "transferd-bench",
            dependencies: [
                "ChildProcess", "Curl", "EmbeddedPostgres", "PollLoop", "FaultProxy", "Postgres",
                "TransferEngine", "TransferModel", "TransferStore", client, wire, argumentParser,
                logging,
            ],
            path: "Benchmarks",
            exclude: ["pgqueuer-rates.py", "scheduled-jobs.py", "watch-page.py"],
            swiftSettings: swiftSettings
        ),

        // Real servers and databases for tests.
        .target(
            name: "TransferTestSupport",
            dependencies: [
                "ChildProcess", "EmbeddedPostgres", "FaultProxy", "PollLoop", "Postgres",
                "TransferContainer", "TransferModel", "TransferStore", client, wire, crypto,
                logging,
                .product(name: "Yams", package: "Yams"),
            ],
            path: "Tests/TransferTestSupport",
            swiftSettings: swiftSettings
        ),
        testTarget("PollLoop", "ChildProcess"),
        testTarget("TaskThreads"),
        // A TCP proxy that delays, limits and breaks connections.
        .target(
            name: "FaultProxy",
            dependencies: ["PollLoop"],
            path: "Tests/FaultProxy",
            swiftSettings: swiftSettings
        ),
        testTarget("Curl", "PollLoop", "FaultProxy"),
        testTarget("FaultProxy", "Curl"),
        testTarget("Postgres", "ChildProcess", "CLinux", "PollLoop"),
        testTarget("ChildProcess"),
        testTarget("EmbeddedPostgres", "Postgres", "PollLoop", logging),
        testTarget("TransferModel"),
        testTarget("TransferMetrics"),
        testTarget(
            "TransferStore",
            "TransferSecrets",
            "TransferModel",
            "FaultProxy",
            "Postgres",
            standardWebhooks,
            logging
        ),
        testTarget("TransferSecrets", "TransferModel"),
        testTarget("TransferContainer", "TransferModel", "CLinux", crypto),
        testTarget(
            "TransferEngine",
            "TransferContainer",
            "TransferSecrets",
            "TransferModel",
            "TransferStore",
            "Curl",
            "PollLoop",
            "FaultProxy",
            "Postgres",
            crypto,
            lifecycle,
            logging
        ),
        testTarget(
            "TransferWebhooks",
            "TransferModel",
            "TransferStore",
            wire,
            standardWebhooks,
            "Curl",
            "Postgres",
            crypto,
            lifecycle,
            logging
        ),
        .testTarget(
            name: "TransferWireTests",
            dependencies: [wire, "TransferTestSupport"],
            swiftSettings: swiftSettings
        ),
        .testTarget(
            name: "StandardWebhooksTests",
            dependencies: [standardWebhooks],
            swiftSettings: swiftSettings
        ),
        .testTarget(
            name: "TransferClientTests",
            dependencies: [
                client, clientTransport, clientRoutes, wire, standardWebhooks, hummingbird,
                "TransferTestSupport",
            ],
            swiftSettings: swiftSettings
        ),
        .testTarget(
            name: "TransferctlTests",
            dependencies: ["transferctl", client, wire, argumentParser, "TransferTestSupport"],
            swiftSettings: swiftSettings
        ),
        testTarget(
            "TransferHTTP",
            "CLinux",
            "TransferMetrics",
            "TransferSecrets",
            "TransferModel",
            "TransferStore",
            wire,
            "Curl",
            "PollLoop",
            "Postgres",
            crypto,
            hummingbird,
            lifecycle,
            logging
        ),
        // The built program as its users run it: started, killed and started again.
        .testTarget(
            name: "IntegrationTests",
            dependencies: [
                "transferd", "transferctl", "color-feed", "album", "TransferTestSupport", wire,
                client, clientTransport, clientRoutes, standardWebhooks, hummingbird,
                "ChildProcess", "CLinux", "FaultProxy", "Postgres",
                "TransferStore", "TransferModel", "TransferMetrics", crypto, logging,
            ],
            exclude: ["Page/browser"],
            swiftSettings: swiftSettings
        ),
        // Seeded faults over real processes, and the checker of what came of them.
        .testTarget(
            name: "ChaosTests",
            dependencies: [
                "transferd", "TransferTestSupport", wire, standardWebhooks,
                "ChildProcess", "EmbeddedPostgres", "PollLoop", "FaultProxy", "Postgres",
                "TransferModel", logging,
            ],
            swiftSettings: swiftSettings
        ),
        // Every verb of the store beside a million tasks; `make scale`.
        .testTarget(
            name: "ScaleTests",
            dependencies: [
                "TransferTestSupport", "TransferStore", "TransferModel", "Postgres",
                standardWebhooks, logging,
            ],
            swiftSettings: swiftSettings
        ),
        // Rules about the code itself.
        .testTarget(name: "TidyTests", swiftSettings: swiftSettings),
    ]
)

// `make docs` makes pages of what the client's users read; nothing else needs the plugin.
if Context.environment["TRANSFERD_DOCS"] != nil {
    package.dependencies.append(
        .package(url: "https://github.com/swiftlang/swift-docc-plugin", from: "1.5.0")
    )
}

/// The tests of a target, beside the support that all of them use.
func testTarget(_ name: String, _ dependencies: Target.Dependency...) -> Target {
    .testTarget(
        name: "\(name)Tests",
        dependencies: [.byName(name: name), "TransferTestSupport"] + dependencies,
        swiftSettings: swiftSettings
    )
}
