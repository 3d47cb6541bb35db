#if Hummingbird
    import HTTPTypes
    public import Hummingbird
    import Logging
    public import TransferClient

    extension RouterMethods {
        /// Takes the webhooks of a subscription, as `POST` requests to a path.
        ///
        /// What is refused, and what the program of the handler throws, is logged by the request's
        /// logger; the response has no body.
        ///
        /// - Parameters:
        ///   - path: the path of the subscription's URL.
        ///   - handler: what verifies the messages, and what is done for their events.
        ///   - bodyBytesMax: the most bytes of a message; longer ones get the status 413.
        /// - Returns: the router.
        @discardableResult
        public func webhooks(
            _ path: RouterPath,
            handler: WebhookHandler,
            bodyBytesMax: Int = WebhookHandler.bodyBytesMax
        ) -> Self {
            on(path, method: .post) { request, context in
                let body = try await request.body.collect(upTo: bodyBytesMax)
                let outcome = await handler.handle(
                    headers: request.headers.map { ($0.name.canonicalName, $0.value) },
                    body: Array(body.readableBytesView)
                )
                if let error = outcome.error {
                    context.logger.warning(
                        "a webhook was not accepted",
                        metadata: ["status": "\(outcome.status)", "error": "\(error)"]
                    )
                }
                return HTTPResponse.Status(code: outcome.status)
            }
        }
    }
#endif
