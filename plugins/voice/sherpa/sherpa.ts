/** Types of the used part of sherpa-onnx-node: the package has comments instead of types. */
export interface Wave {
  readonly samples: Float32Array;
  readonly sampleRate: number;
}
/** Opaque, but for feeding it. */
export interface OnlineStream {
  acceptWaveform(wave: Wave): void;
  inputFinished(): void;
}
export interface OfflineStream {
  acceptWaveform(wave: Wave): void;
}
export interface Vad {
  acceptWaveform(samples: Float32Array): void;
  isDetected(): boolean;
  isEmpty(): boolean;
  pop(): void;
  reset(): void;
}
export interface OnlineRecognizer {
  createStream(): OnlineStream;
  isReady(stream: OnlineStream): boolean;
  decode(stream: OnlineStream): void;
  getResult(stream: OnlineStream): { readonly text: string };
}
export interface OfflineRecognizer {
  createStream(): OfflineStream;
  decodeAsync(stream: OfflineStream): Promise<unknown>;
  getResult(stream: OfflineStream): { readonly text: string };
}
export interface KeywordSpotter {
  createStream(): OnlineStream;
  isReady(stream: OnlineStream): boolean;
  decode(stream: OnlineStream): void;
  reset(stream: OnlineStream): void;
  /** Timestamps are seconds since the beginning of the stream; the keyword is empty where there is none. */
  getResult(stream: OnlineStream): { readonly keyword: string; readonly timestamps?: readonly number[] };
}
export interface OfflineTts {
  readonly numSpeakers: number;
  readonly sampleRate: number;
  generateAsync(request: {
    readonly text: string;
    readonly sid: number;
    readonly speed: number;
    readonly enableExternalBuffer: boolean;
    /** False ends it. */
    readonly onProgress?: (made: { readonly samples: Float32Array; readonly progress: number }) => boolean;
  }): Promise<Wave>;
}
export interface Sherpa {
  readonly Vad: new (config: object, seconds: number) => Vad;
  readonly OnlineRecognizer: new (config: object) => OnlineRecognizer;
  readonly OfflineRecognizer: { createAsync(config: object): Promise<OfflineRecognizer> };
  readonly KeywordSpotter: new (config: object) => KeywordSpotter;
  readonly OfflineTts: { createAsync(config: object): Promise<OfflineTts> };
}
