/** Runs in the browser's thread of sound: frames of 20 ms, 16 bits, and how loud each is. A module of its own, so it imports nothing. */
declare class AudioWorkletProcessor {
  readonly port: MessagePort;
}
declare function registerProcessor(name: string, processor: typeof AudioWorkletProcessor): void;

const FRAME = 320;

class Microphone extends AudioWorkletProcessor {
  #frame = new Int16Array(FRAME);
  #filled = 0;
  #sum = 0;

  process(inputs: readonly (readonly Float32Array[])[]): boolean {
    for (const sample of inputs[0]?.[0] ?? []) {
      this.#sum += sample * sample;
      this.#frame[this.#filled++] = Math.max(-32_768, Math.min(32_767, Math.round(sample * 32_767)));
      if (this.#filled < FRAME) continue;
      const level = Math.sqrt(this.#sum / FRAME);
      this.port.postMessage({ frame: this.#frame.buffer, level }, [this.#frame.buffer]);
      this.#frame = new Int16Array(FRAME);
      this.#filled = 0;
      this.#sum = 0;
    }
    return true;
  }
}

registerProcessor('microphone', Microphone);
