import TransferModel
import TransferWire

extension OptionsRequest {
    /// The range of a timeout, in seconds.
    static let timeoutSeconds = 0.1...Double(365 * 24 * 3600)

    /// Returns the requested options, found at `pointer` in the body, and adds what is wrong to
    /// `errors`.
    func options(at pointer: String, into errors: inout [FieldError]) -> TransferOptions {
        var options = TransferOptions()
        var check = RangeCheck(pointer: pointer)
        setTimes(of: &options, &check)
        setAmounts(of: &options, &check)
        setRetries(of: &options, &check)
        setTLS(of: &options, &check)
        options.waitsForConnectivity = waitsForConnectivity
        options.asksToBegin = asksToBegin
        options.asksForCredential = asksForCredential
        if let credential, !Credential.isName(credential) {
            check.refuse("credential", CredentialRules.name)
        } else {
            options.credential = credential
        }
        switch httpErrors {
        case nil: break
        case "fail": options.deliversHTTPErrors = false
        case "deliver": options.deliversHTTPErrors = true
        default: check.refuse("http_errors", "Must be `fail` or `deliver`.")
        }
        errors += check.errors
        return options
    }

    private func setTimes(of options: inout TransferOptions, _ check: inout RangeCheck) {
        options.timeoutForRequest = check.seconds(
            timeoutForRequest,
            Self.timeoutSeconds,
            "timeout_for_request"
        )
        options.timeoutForResource = check.seconds(
            timeoutForResource,
            Self.timeoutSeconds,
            "timeout_for_resource"
        )
        options.timeoutForFirstByte = check.seconds(
            timeoutForFirstByte,
            Self.timeoutSeconds,
            "timeout_for_first_byte"
        )
        options.progressInterval = check.seconds(
            progressInterval,
            TransferOptions.progressIntervalSeconds,
            "progress_interval"
        )
    }

    private func setAmounts(of options: inout TransferOptions, _ check: inout RangeCheck) {
        options.bytesPerSecondMax = check.number(
            bytesPerSecondMax,
            TransferOptions.bytesPerSecondRange,
            "bytes_per_second_max"
        )
        options.redirectsMax = check.number(
            redirectsMax,
            TransferOptions.redirectsRange,
            "redirects_max"
        )
        options.sizeMax = check.number(sizeMax, 0...Int64.max, "size_max")
        options.segmentsMax = check.number(
            segmentsMax,
            TransferOptions.segmentsRange,
            "segments_max"
        )
    }

    private func setRetries(of options: inout TransferOptions, _ check: inout RangeCheck) {
        options.attemptsMax = check.number(
            retry?.attemptsMax,
            TransferOptions.attemptsRange,
            "retry/attempts_max"
        )
        options.retryDelayBase = check.seconds(
            retry?.delayBase,
            TransferOptions.retryDelaySeconds,
            "retry/delay_base"
        )
        options.retryDelayMax = check.seconds(
            retry?.delayMax,
            TransferOptions.retryDelaySeconds,
            "retry/delay_max"
        )
    }

    private func setTLS(of options: inout TransferOptions, _ check: inout RangeCheck) {
        switch tls?.minimumVersion {
        case nil: break
        case "1.2": options.requiresTLS13 = false
        case "1.3": options.requiresTLS13 = true
        default: check.refuse("tls/minimum_version", "Must be `1.2` or `1.3`.")
        }
        if let authorities = tls?.certificateAuthorities.map({ Array($0.utf8) }) {
            options.certificateAuthorities = CertificateAuthorities(pem: authorities)
            if options.certificateAuthorities == nil {
                check.refuse("tls/certificate_authorities", CertificateAuthorities.rule)
            }
        }
    }
}

extension TaskRequest {
    /// Returns the task's own options, with those that only a task can have.
    func options(at pointer: String, into errors: inout [FieldError]) -> TransferOptions {
        var options = options.options(at: pointer, into: &errors)
        var check = RangeCheck(pointer: pointer)
        options.expectedSize = check.number(expectedSize, 0...Int64.max, "expected_size")
        for (name, hex) in (checksums ?? [:]).sorted(by: { $0.key < $1.key }) {
            let place = "checksums/\(JSONPointer.escaped(name))"
            guard let algorithm = ChecksumAlgorithm(rawValue: name) else {
                let known = ChecksumAlgorithm.allCases.map(\.rawValue).joined(separator: ", ")
                check.refuse(place, "Must be one of \(known).")
                continue
            }
            guard let checksum = Checksum(algorithm, hex: hex) else {
                check.refuse(place, "Must have \(2 * algorithm.byteCount) hexadecimal digits.")
                continue
            }
            options.checksums.append(checksum)
        }
        options.checksums.sort { $0.algorithm < $1.algorithm }
        errors += check.errors
        return options
    }
}

extension OptionsDocument {
    init(_ options: TransferOptions) {
        self.init()
        timeoutForRequest = options.timeoutForRequest?.seconds
        timeoutForResource = options.timeoutForResource?.seconds
        let hasRetry =
            options.attemptsMax != nil || options.retryDelayBase != nil
            || options.retryDelayMax != nil
        if hasRetry {
            retry = Retry(
                attemptsMax: options.attemptsMax,
                delayBase: options.retryDelayBase?.seconds,
                delayMax: options.retryDelayMax?.seconds
            )
        }
        httpErrors = options.deliversHTTPErrors.map { $0 ? "deliver" : "fail" }
        redirectsMax = options.redirectsMax
        sizeMax = options.sizeMax
        segmentsMax = options.segmentsMax
        waitsForConnectivity = options.waitsForConnectivity
        asksToBegin = options.asksToBegin
        credential = options.credential
        asksForCredential = options.asksForCredential
        timeoutForFirstByte = options.timeoutForFirstByte?.seconds
        bytesPerSecondMax = options.bytesPerSecondMax
        progressInterval = options.progressInterval?.seconds
        if options.requiresTLS13 != nil || options.certificateAuthorities != nil {
            tls = TLS(
                minimumVersion: options.requiresTLS13.map { $0 ? "1.3" : "1.2" },
                certificateAuthorities: options.certificateAuthorities
                    .map { String(decoding: $0.pem, as: UTF8.self) }
            )
        }
    }
}

extension Duration {
    /// The duration in seconds, the unit of the API.
    var seconds: Double {
        Double(components.seconds) + Double(components.attoseconds) / 1e18
    }
}
