// An agent on the JavaScript SDK: `node agent.mjs TRANSPORT NAME [logs]`; what it does is told in
// agent.py. With "logs" it tells of its steps in log records.

import { createInterface } from "node:readline";

import { DiagLogLevel, diag } from "@opentelemetry/api";
import { OTLPLogExporter as GrpcLogs } from "@opentelemetry/exporter-logs-otlp-grpc";
import { OTLPLogExporter as JsonLogs } from "@opentelemetry/exporter-logs-otlp-http";
import { OTLPLogExporter as ProtoLogs } from "@opentelemetry/exporter-logs-otlp-proto";
import { OTLPTraceExporter as GrpcExporter } from "@opentelemetry/exporter-trace-otlp-grpc";
import { OTLPTraceExporter as JsonExporter } from "@opentelemetry/exporter-trace-otlp-http";
import { OTLPTraceExporter as ProtoExporter } from "@opentelemetry/exporter-trace-otlp-proto";
import { BatchLogRecordProcessor, LoggerProvider } from "@opentelemetry/sdk-logs";
import { BasicTracerProvider, BatchSpanProcessor } from "@opentelemetry/sdk-trace-base";

const SESSIONS = 4;

/** Exports again what failed: the gRPC exporter gives a batch up with the first error. */
class Again {
  #exporter = new GrpcExporter();

  export(spans, done) {
    this.#exporter.export(spans, (result) => {
      if (result.code === 0) return done(result);
      console.error(`exporting again after: ${result.error?.message}`);
      setTimeout(() => this.export(spans, done), 200);
    });
  }

  forceFlush() {
    return this.#exporter.forceFlush();
  }

  shutdown() {
    return this.#exporter.shutdown();
  }
}

const EXPORTERS = {
  grpc: GrpcExporter,
  "grpc-again": Again,
  json: JsonExporter,
  protobuf: ProtoExporter,
};

// Retries are told as "verbose"; "debug" would show every span.
const say = console.error;
diag.setLogger(
  { error: say, warn: say, info: say, debug: () => {}, verbose: say },
  { logLevel: DiagLogLevel.ALL },
);

const LOGS = { grpc: GrpcLogs, json: JsonLogs, protobuf: ProtoLogs };
const BATCHES = { scheduledDelayMillis: 50, maxExportBatchSize: 16 };

const [transport, name, signal] = process.argv.slice(2);

/** What provides, and what tells of a step with some attributes. */
function spans() {
  const exporter = new EXPORTERS[transport]();
  const provider = new BasicTracerProvider({
    spanProcessors: [new BatchSpanProcessor(exporter, BATCHES)],
  });
  const tracer = provider.getTracer("agent");
  return [provider, (attributes) => tracer.startSpan("tool.call", { attributes }).end()];
}

function logs() {
  const exporter = new LOGS[transport]();
  const provider = new LoggerProvider({
    processors: [new BatchLogRecordProcessor({ exporter, ...BATCHES })],
  });
  const logger = provider.getLogger("agent");
  return [provider, (attributes) => logger.emit({ eventName: "work", attributes })];
}

const [provider, step] = signal === "logs" ? logs() : spans();

let number = 0;
for await (const line of createInterface({ input: process.stdin })) {
  for (let left = Number(line); left > 0; left--) {
    const attributes = {
      "hangar.session.id": `${name}-${number % SESSIONS}`,
      "hangar.turn": number,
      "gen_ai.tool.name": "work",
    };
    step(attributes);
    number += 1;
  }
}
// A flush fails when the last of its batches did: said, but no reason for an agent to fail.
await provider.forceFlush().catch(console.error);
await provider.shutdown().catch(console.error);
