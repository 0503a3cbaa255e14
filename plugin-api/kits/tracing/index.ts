/** The door of traces: contexts that are handed on from call to call, and spans for plugin `traces`. */

export {
  beginTrace,
  checkedTrace,
  formatTraceparent,
  logOfTrace,
  parseTraceparent,
  shortTrace,
  type TraceContext,
} from '../../contract/trace.ts';
export { type Span, type TraceRules, type Traces, traces } from '../../services/traces.ts';
export { slowFrom } from './slow.ts';
export { type OpenSpan, type SpanEnd, Tracer } from './tracer.ts';
